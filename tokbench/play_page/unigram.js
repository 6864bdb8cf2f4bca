// Unigram: the segmentation with the highest sum of scores, found from left to right.

class UnigramCutter {
  constructor(data) {
    this.unknown = data.unknown;
    this.unknownScore = data.unknown_score;
    this.reset = data.reset ?? Infinity;
    this.Sums = data.is_double ? Float64Array : Float32Array;
    this.rounded = data.is_double ? (sum) => sum : Math.fround;
    this.tree = new PieceTree(data.scores.map(([id]) => [toBytes(data.pieces[id]), id]));
    this.scoreOf = new this.Sums(data.pieces.length);
    this.isScored = new Uint8Array(data.pieces.length);
    for (const [id, score] of data.scores) {
      this.scoreOf[id] = score;
      this.isScored[id] = 1;
    }
  }

  // Yields the words of a normalized text, for display: the pieces up to the next one that begins with a space.
  *cut(normal) {
    let word = "";
    let parts = [];
    for (const { id, start, stop } of this.bestCuts(normal)) {
      if (word !== "" && normal.startsWith(SPACE_SIGN, start)) {
        yield { word, parts };
        [word, parts] = ["", []];
      }
      word += normal.slice(start, stop);
      parts.push({ id: id === this.unknown ? null : id, size: stop - start });
    }
    if (word !== "") yield { word, parts };
  }

  // Sums continue through the whole text, so that they are rounded as in the library.
  bestCuts(normal) {
    const size = normal.length;
    const sums = new this.Sums(size + 1);
    const starts = new Int32Array(size + 1).fill(-1);
    const ids = new Int32Array(size + 1);
    let frontier = 0;
    const reach = (start, stop, id, score) => {
      if (stop > frontier) frontier = stop;
      const sum = this.rounded(sums[start] + score);
      if (starts[stop] < 0 || sum > sums[stop]) {
        sums[stop] = sum;
        starts[stop] = start;
        ids[stop] = id;
      }
    };
    for (let start = 0; start < size; ) {
      if (Math.abs(sums[start]) > this.reset) {
        const offset = sums[start];
        for (let place = start; place <= frontier; place++) {
          if (place === start || starts[place] >= 0) sums[place] -= offset;
        }
      }
      const next = start + sizeAt(normal, start);
      let hasCharacter = false;
      let node = 0;
      for (let stop = start + 1; stop <= size; stop++) {
        node = this.tree.child(node, normal.charCodeAt(stop - 1));
        if (node < 0) break;
        const id = this.tree.idAt(node);
        if (id < 0) continue;
        if (stop === next) hasCharacter = true;
        reach(start, stop, id, this.scoreOf[id]);
      }
      if (!hasCharacter) reach(start, next, this.unknown, this.unknownScore);
      start = next;
    }
    const cuts = [];
    for (let stop = size; stop > 0; stop = starts[stop]) cuts.push({ id: ids[stop], start: starts[stop], stop });
    return cuts.reverse();
  }

  // Returns the best segmentation with the cost of each piece; if the context changed it, the segmentation in the text.
  steps(word, ids, spelled) {
    const cuts = this.bestCuts(word);
    const known = cuts.filter(({ id }) => id !== this.unknown).map(({ id }) => id);
    const wanted = ids.filter((id) => this.isScored[id]);
    if (known.join() !== wanted.join()) return [{ label: "split together with the words around it", parts: ids.map(spelled) }];
    const costOf = ({ id }) => (id === this.unknown ? this.unknownScore : this.scoreOf[id]);
    const partOf = ({ start, stop }) => word.slice(start, stop);
    const total = cuts.reduce((sum, cut) => sum + costOf(cut), 0);
    const rows = cuts.map((cut) => ({
      label: `${costOf(cut).toFixed(3)}${cut.id === this.unknown ? ", no piece" : ""}`,
      parts: [partOf(cut)],
    }));
    return [{ label: `the best segmentation: ${total.toFixed(3)}`, parts: cuts.map(partOf) }, ...rows];
  }
}

// A trie of pieces, by bytes: a node for each prefix, found in a hash table with open addressing.
class PieceTree {
  constructor(entries) {
    const size = entries.reduce((sum, [bytes]) => sum + bytes.length, 1);
    this.mask = 2 ** Math.ceil(Math.log2(2 * size + 2)) - 1;
    this.keys = new Int32Array(this.mask + 1).fill(-1);
    this.children = new Int32Array(this.mask + 1);
    this.ids = new Int32Array(size + 1).fill(-1);
    let nodes = 1;
    for (const [bytes, id] of entries) {
      let node = 0;
      for (let at = 0; at < bytes.length; at++) {
        const slot = this.slotOf(node, bytes.charCodeAt(at));
        if (this.keys[slot] < 0) {
          this.keys[slot] = node * 256 + bytes.charCodeAt(at);
          this.children[slot] = nodes++;
        }
        node = this.children[slot];
      }
      this.ids[node] = id;
    }
  }

  slotOf(node, byte) {
    const key = node * 256 + byte;
    let slot = Math.imul(key, 0x9e3779b1) >>> 7 & this.mask;
    while (this.keys[slot] >= 0 && this.keys[slot] !== key) slot = (slot + 1) & this.mask;
    return slot;
  }

  // Returns the child of a node by a byte, or -1.
  child(node, byte) {
    const slot = this.slotOf(node, byte);
    return this.keys[slot] < 0 ? -1 : this.children[slot];
  }

  idAt(node) {
    return this.ids[node];
  }
}
