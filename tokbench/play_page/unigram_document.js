// Unigram of a tokenizer.json: words separated by white space, each prefixed with ▁ and segmented by itself.

const SHORT_CLUSTER = 6;  // bytes: a shorter cluster is looked up as a whole, and the replacement of its first key replaces all of it

class UnigramDocumentModel {
  constructor(data) {
    this.pieces = data.pieces;
    this.unknown = data.unknown;
    this.byteIds = data.bytes;
    this.byteOf = new Map((data.bytes ?? []).map((id, byte) => [id, String.fromCharCode(byte)]));
    this.ordinary = new WordCutter(data, data.scores);
    this.specialIds = new Set(data.special_scores.map(([id]) => id).filter((id) => id !== data.unknown));
    this.withSpecials = null;  // created when first used
    this.data = data;
    this.table = data.charsmap === "" ? null : new ReplacementTable(data.charsmap);
    this.joins = new Uint8Array(0x110000);
    [data.joined.joining, data.joined.prepended, data.joined.controls].forEach((ranges, kind) => {
      for (let at = 0; at < ranges.length; at += 2) this.joins.fill(kind + 1, ranges[at], ranges[at + 1] + 1);
    });
  }

  bytesOf(id) {
    return this.byteOf.get(id) ?? toBytes(this.pieces[id].replaceAll("\u2581", " "));
  }

  // Returns the token's text in the vocabulary.
  spellingOf(id) {
    return this.pieces[id];
  }

  // Appends the tokens of a text between special tokens. Its normalized form may contain the text of a special token
  // (\uff1c becomes <), which is then matched, too. Throws `SpecialTokenFound` under the policy "raise".
  encode(text, out, policy = "text") {
    if (policy !== "text" && this.specialIds.size > 0) {
      this.withSpecials ??= new WordCutter(this.data, [...this.data.scores, ...this.data.special_scores]);
      if (policy === "encode") return this.encodeBy(this.withSpecials, text, out);
      const found = new Tokens();
      this.encodeBy(this.withSpecials, text, found);
      const at = found.ids.findIndex((id) => this.specialIds.has(id));
      if (at >= 0) throw new SpecialTokenFound(this.pieces[found.ids[at]], out.reached + found.starts[at]);
    }
    this.encodeBy(this.ordinary, text, out);
  }

  // Appends the tokens of a text in a vocabulary, each with the offsets of its characters.
  encodeBy(cutter, text, out) {
    const word = new PlacedWord(cutter);
    const base = out.reached;
    let place = base;
    for (const cluster of this.clusters(text)) {
      const stop = place + sizeOf(cluster);
      const whole = this.table !== null && stop - place < SHORT_CLUSTER ? this.table.shortest(toBytes(cluster)) : null;
      if (whole !== null) this.collect(toText(whole), place, stop, word, out);
      else {
        for (const character of cluster) {
          const behind = place + sizeOf(character);
          const made = this.table === null ? null : this.table.shortest(toBytes(character));
          this.collect(made === null ? character : toText(made), place, behind, word, out);
          place = behind;
        }
      }
      place = stop;
    }
    this.finish(word, out);
    out.reached = place;
  }

  // Yields the grapheme clusters of a text.
  *clusters(text) {
    const [JOINING, PREPENDED, CONTROL] = [1, 2, 3];
    const kindAt = (at) => (at < text.length ? this.joins[text.codePointAt(at)] : CONTROL);
    const behind = (at) => at + (text.codePointAt(at) < 0x10000 ? 1 : 2);
    for (let start = 0; start < text.length; ) {
      let stop = start;
      while (kindAt(stop) === PREPENDED) stop = behind(stop);
      if (stop === start || kindAt(stop) !== CONTROL) {
        const isControl = kindAt(stop) === CONTROL;
        stop = behind(stop);
        while (!isControl && kindAt(stop) === JOINING) stop = behind(stop);
      }
      yield text.slice(start, stop);
      start = stop;
    }
  }

  // Appends normalized characters to the word, which starts with ▁ and ends at white space.
  collect(made, start, stop, word, out) {
    for (const character of made) {
      if (WHITE_SPACE.test(character)) {
        this.finish(word, out);
        continue;
      }
      if (character === "\u2581") this.finish(word, out);
      else if (word.text === "") this.append(word, SPACE_SIGN, start, start);
      this.append(word, toBytes(character), start, stop);
    }
  }

  append(word, bytes, start, stop) {
    for (const byte of bytes) word.add(byte, start, stop);
  }

  finish(word, out) {
    if (word.text === "") return;
    out.beginWord(word.text);
    let start = 0;
    for (const { id, size } of word.cutter.partsOf(word.text)) {
      const [first, last] = [word.starts[start], word.stops[start + size - 1]];
      if (id !== null) out.addAt(id, first, last);
      else if (this.byteIds === null) out.addAt(this.unknown, first, last);
      else for (const byte of word.text.slice(start, start + size)) out.addAt(this.byteIds[byte.charCodeAt(0)], first, last);
      start += size;
    }
    word.clear();
  }

  steps(word, ids) {
    const hasSpecial = ids.some((id) => this.specialIds.has(id));
    return (hasSpecial ? this.withSpecials : this.ordinary).cutter.steps(word, ids, (id) => toBytes(this.pieces[id]));
  }
}

// Segments words into the pieces of one vocabulary, with a cache.
class WordCutter {
  constructor(data, scores) {
    this.unknown = data.unknown;
    this.cutter = new UnigramCutter({ ...data, scores });
    this.words = new Map();
  }

  // Returns the pieces of a word; adjacent unknown characters form one.
  partsOf(word) {
    let parts = this.words.get(word);
    if (parts !== undefined) return parts;
    parts = [];
    for (const { id, start, stop } of this.cutter.bestCuts(word)) {
      const last = parts[parts.length - 1];
      if (id !== this.unknown) parts.push({ id, size: stop - start });
      else if (last !== undefined && last.id === null) last.size += stop - start;
      else parts.push({ id: null, size: stop - start });
    }
    if (this.words.size >= WORDS_KEPT) this.words.clear();
    this.words.set(word, parts);
    return parts;
  }
}
