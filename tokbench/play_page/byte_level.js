// Byte-level BPE: splits a text, and merges the pair of the lowest rank in each part first, the leftmost of equals.

const WORDS_KEPT = 100000;
const RANKS_BASE = 2 ** 21;  // above every rank; a rank and a place fit in one number below 2 ** 53
const PLACES_BASE = 2 ** 32;

class ByteLevelModel {
  constructor(data) {
    this.tokens = data.tokens;
    this.isWholeFirst = data.whole_first;
    this.isNormalized = data.nfc;
    this.pattern = data.split === null ? null : new RegExp(data.split, "yu");
    this.ids = new Map();
    data.tokens.forEach((token, id) => token !== null && this.ids.set(token, id));
    this.bytes = Array.from({ length: 256 }, (_, byte) => this.ids.get(String.fromCharCode(byte)));
    this.ranks = data.merges === null ? null : this.ranksOf(data.merges);
    this.words = new Map();
  }

  bytesOf(id) {
    return this.tokens[id];
  }

  ranksOf(merges) {
    const ranks = new Map();
    for (let at = 0; at < merges.length; at += 2) {
      const [left, right] = [merges[at], merges[at + 1]];
      const made = this.ids.get(this.tokens[left] + this.tokens[right]);
      ranks.set(left * RANKS_BASE + right, { rank: at / 2, made });
    }
    return ranks;
  }

  // Returns the id and the rank of the merge of two neighbours; undefined if there is none.
  find(left, right) {
    if (this.ranks !== null) return this.ranks.get(left * RANKS_BASE + right);
    const made = this.ids.get(this.tokens[left] + this.tokens[right]);
    return made === undefined ? undefined : { rank: made, made };
  }

  // Appends the tokens of an ordinary text; offsets are in bytes of the normalized text.
  encode(text, out) {
    const prepared = this.isNormalized ? text.normalize("NFC") : text;
    if (prepared !== text) out.isNormalized = true;
    for (const word of this.split(prepared)) {
      const bytes = toBytes(word);
      out.beginWord(bytes);
      for (const id of this.idsOf(bytes)) out.add(id, this.tokens[id].length);
    }
  }

  split(text) {
    if (this.pattern === null) return text ? [text] : [];
    const words = [];
    for (let at = 0; at < text.length; ) {
      this.pattern.lastIndex = at;
      const match = this.pattern.exec(text);
      if (match === null || match[0] === "") throw new Error(`the split pattern matches nothing at ${at}`);
      words.push(match[0]);
      at += match[0].length;
    }
    return words;
  }

  idsOf(word) {
    let ids = this.words.get(word);
    if (ids === undefined) {
      if (this.words.size >= WORDS_KEPT) this.words.clear();
      ids = this.merged(word);
      this.words.set(word, ids);
    }
    return ids;
  }

  // Returns the ids of a word; calls `onStep` for each merge with its rank, its result, and the ids after it.
  merged(word, onStep = null) {
    if (this.isWholeFirst && this.ids.has(word)) return [this.ids.get(word)];
    const ids = Array.from(word, (byte) => this.bytes[byte.charCodeAt(0)]);
    return mergedNeighbours(ids, (place, behind) => this.find(ids[place], ids[behind]), onStep);
  }

  // Returns the steps of encoding a word: a line for each, with the bytes of the symbols after it.
  steps(word) {
    if (this.isWholeFirst && this.ids.has(word)) {
      return [{ label: "the whole word is a token: nothing is merged", parts: [word] }];
    }
    const made = [{ label: "its bytes", parts: Array.from(word) }];
    this.merged(word, (rank, pair, ids) => {
      made.push({ label: `rank ${rank}`, pair: pair.map((id) => this.tokens[id]), parts: ids.map((id) => this.tokens[id]) });
    });
    return made;
  }
}

// Merges neighbours until none can be merged, the lowest rank first, the leftmost of equals, and returns what is left.
// `find` returns the rank and the result of merging the symbols at two offsets, or undefined; `onStep` is called for each
// merge with its rank, its pair, and the symbols after it.
function mergedNeighbours(symbols, find, onStep) {
  const size = symbols.length;
  const next = symbols.map((_, place) => place + 1);
  const before = symbols.map((_, place) => place - 1);
  const waiting = new Array(size).fill(-1);  // the rank at which the symbol at an offset merges with the next one
  const heap = new Heap();
  const look = (place) => {
    if (place < 0) return;
    const found = next[place] < size ? find(place, next[place]) : undefined;
    waiting[place] = found === undefined ? -1 : found.rank;
    if (found !== undefined) heap.push(found.rank * PLACES_BASE + place);
  };
  const chain = () => {
    const left = [];
    for (let place = 0; place < size; place = next[place]) left.push(symbols[place]);
    return left;
  };
  for (let place = 0; place + 1 < size; place++) look(place);
  while (heap.size > 0) {
    const key = heap.pop();
    const place = key % PLACES_BASE;
    const rank = (key - place) / PLACES_BASE;
    if (waiting[place] !== rank) continue;
    const gone = next[place];
    const pair = [symbols[place], symbols[gone]];
    symbols[place] = find(place, gone).made;
    waiting[gone] = -1;
    next[place] = next[gone];
    if (next[place] < size) before[next[place]] = place;
    look(before[place]);
    look(place);
    if (onStep !== null) onStep(rank, pair, chain());
  }
  return chain();
}

// A binary heap with the smallest number first.
class Heap {
  constructor() {
    this.keys = [];
  }

  get size() {
    return this.keys.length;
  }

  push(key) {
    const keys = this.keys;
    let at = keys.length;
    keys.push(key);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (keys[above] <= key) break;
      keys[at] = keys[above];
      at = above;
    }
    keys[at] = key;
  }

  pop() {
    const keys = this.keys;
    const first = keys[0];
    const key = keys.pop();
    const size = keys.length;
    if (size === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      if (below + 1 < size && keys[below + 1] < keys[below]) below++;
      if (keys[below] >= key) break;
      keys[at] = keys[below];
      at = below;
    }
    keys[at] = key;
    return first;
  }
}
