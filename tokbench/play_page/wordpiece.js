// WordPiece: from each word, repeatedly take the longest piece that matches at the current position.

class WordPieceModel {
  constructor(data) {
    this.pieces = data.pieces;
    this.prefix = data.prefix;
    this.unknown = data.unknown;
    this.mostCharacters = data.most_characters;
    this.characters = new BertCharacters(data.characters);
    this.ids = new Map();
    data.pieces.forEach((piece, id) => piece !== null && this.ids.set(piece, id));
    this.longest = data.pieces.reduce((most, piece) => Math.max(most, piece === null ? 0 : piece.length), 0);
    this.words = new Map();
  }

  bytesOf(id) {
    const piece = this.pieces[id];
    const isInside = this.prefix !== "" && piece.startsWith(this.prefix) && piece !== this.prefix;
    return toBytes(isInside ? piece.slice(this.prefix.length) : piece);
  }

  // Returns the token's text in the vocabulary.
  spellingOf(id) {
    return this.pieces[id];
  }

  // Appends the tokens of an ordinary text, each with the offsets of its characters.
  encode(text, out) {
    const ordered = this.characters.ordered(text);
    if (ordered !== text) out.isNormalized = true;
    const word = new PlacedWord();
    let place = out.reached;
    for (let at = 0; at < ordered.length; ) {
      const code = ordered.codePointAt(at);
      const character = code < 0x10000 ? ordered[at] : ordered.slice(at, at + 2);
      const stop = place + (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
      const made = this.characters.made(character, code);
      for (let unit = 0; unit < made.length; unit++) {
        if (made[unit] === " ") this.finish(word, out);
        else word.add(made[unit], place, stop);
      }
      at += character.length;
      place = stop;
    }
    this.finish(word, out);
    out.reached = place;
  }

  finish(word, out) {
    if (word.text === "") return;
    const { ids, stops } = this.idsOf(word.text);
    out.beginWord(toBytes(word.text));
    let start = 0;
    ids.forEach((id, at) => {
      out.addAt(id, word.starts[start], word.stops[stops[at] - 1]);
      start = stops[at];
    });
    word.clear();
  }

  idsOf(word) {
    let found = this.words.get(word);
    if (found === undefined) {
      if (this.words.size >= WORDS_KEPT) this.words.clear();
      found = this.matched(word) ?? { ids: [this.unknown], stops: [word.length] };
      this.words.set(word, found);
    }
    return found;
  }

  // Returns the pieces of a word and their ends, or null for an unknown word; calls `onStep` for each match.
  matched(word, onStep = null) {
    if (word.length > this.mostCharacters && Array.from(word).length > this.mostCharacters) return null;
    const [ids, stops] = [[], []];
    for (let start = 0; start < word.length; ) {
      const mark = start > 0 ? this.prefix : "";
      let stop = Math.min(word.length, start + this.longest);
      while (stop > start && !this.ids.has(mark + word.slice(start, stop))) stop--;
      if (stop === start) return null;
      ids.push(this.ids.get(mark + word.slice(start, stop)));
      stops.push(stop);
      start = stop;
      if (onStep !== null) onStep(ids, word.slice(stop));
    }
    return { ids, stops };
  }

  // Returns the steps of encoding a word: a line for each match, with the pieces so far and the rest.
  steps(word) {
    const text = toText(word);
    const made = [{ label: "the word", parts: [word] }];
    const known = this.matched(text, (ids, rest) => {
      const parts = ids.map((id) => toBytes(this.pieces[id]));
      made.push({ label: "the longest match", parts: rest === "" ? parts : [...parts, toBytes(this.prefix + rest)] });
    });
    if (known !== null) return made;
    const isLong = Array.from(text).length > this.mostCharacters;
    const why = isLong ? `more than ${this.mostCharacters} characters` : "nothing matches the rest";
    return [...made, { label: `${why}: unknown`, parts: [word] }];
  }
}

// A word under construction, with the offsets of the original character of each of its UTF-16 units.
class PlacedWord {
  // `cutter` splits it into tokens; only for a model that has more than one cutter.
  constructor(cutter = null) {
    this.cutter = cutter;
    this.clear();
  }

  clear() {
    this.text = "";
    this.starts = [];
    this.stops = [];
  }

  add(unit, start, stop) {
    this.text += unit;
    this.starts.push(start);
    this.stops.push(stop);
  }
}
