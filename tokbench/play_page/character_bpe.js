// BPE over characters by scores: merges the neighbours that form the piece with the best score, the leftmost of equals.

class CharacterBpeCutter {
  constructor(data) {
    this.cutsWords = data.cuts_words;
    this.ranks = new Map(data.merged.map(([id, rank]) => [toBytes(data.pieces[id]), rank]));
    this.ids = new Map(data.found.map((id) => [toBytes(data.pieces[id]), id]));
    this.unused = new Set(data.unused.map((id) => toBytes(data.pieces[id])));
    this.symbols = new SentencePieceNormalizer(data);
    this.words = new Map();
  }

  // Yields the words of a normalized text, each with its parts: an id, or null if it is not a token, and a size in bytes.
  *cut(normal) {
    for (const word of this.wordsOf(normal)) {
      if (!this.words.has(word)) {
        if (this.words.size >= WORDS_KEPT) this.words.clear();
        this.words.set(word, this.partsOf(word));
      }
      yield { word, parts: this.words.get(word) };
    }
  }

  wordsOf(normal) {
    if (!this.cutsWords) return normal === "" ? [] : [normal];
    return normal.match(/(?:\xe2\x96\x81)*(?:(?!\xe2\x96\x81)[^])+|(?:\xe2\x96\x81)+/g) ?? [];
  }

  partsOf(word) {
    const parts = this.merged(word).flatMap((part) => this.takenApart(part));
    return parts.map((part) => ({ id: this.ids.get(part) ?? null, size: part.length }));
  }

  // Merges a word until no two neighbours form a piece; calls `onStep` for each merge.
  merged(word, onStep = null) {
    const { parts, frozen } = this.begin(word);
    const find = (place, behind) => {
      const rank = frozen[place] || frozen[behind] ? undefined : this.rankOf(parts[place], parts[behind]);
      return rank === undefined ? undefined : { rank, made: parts[place] + parts[behind] };
    };
    return mergedNeighbours(parts, find, onStep);
  }

  rankOf(left, right) {
    return this.ranks.get(left + right);
  }

  // Returns the characters of a word, and which of them are user-defined symbols, which are never merged.
  begin(word) {
    const [parts, frozen] = [[], []];
    for (let place = 0; place < word.length; place += parts[parts.length - 1].length) {
      const symbol = this.symbols.symbolAt(word, place);
      frozen.push(symbol !== undefined);
      parts.push(symbol ?? word.slice(place, place + sizeAt(word, place)));
    }
    return { parts, frozen };
  }

  // Returns a part, or the two parts that an unused one was merged from.
  takenApart(part) {
    if (!this.unused.has(part)) return [part];
    for (let at = sizeAt(part, 0); at < part.length; at += sizeAt(part, at)) {
      const both = [part.slice(0, at), part.slice(at)];
      if (both.every((each) => this.ranks.has(each) || each.length === sizeAt(each, 0))) {
        return both.flatMap((each) => this.takenApart(each));
      }
    }
    return [part];
  }

  steps(word) {
    const made = [{ label: "its characters", parts: this.begin(word).parts }];
    this.merged(word, (rank, _, parts) => made.push({ label: `rank ${rank}`, parts }));
    const [last, used] = [made[made.length - 1].parts, made[made.length - 1].parts.flatMap((part) => this.takenApart(part))];
    if (used.length !== last.length) made.push({ label: "unused pieces, split again", parts: used });
    return made;
  }
}
