// SentencePiece: normalizes the whole text, and splits it into pieces with one of two algorithms.

const SPACE_SIGN = "\xe2\x96\x81";  // the bytes of ▁

class SentencePieceModel {
  constructor(data, Cutter, Normalizer = SentencePieceNormalizer) {
    this.data = data;
    this.normalizer = new Normalizer(data);
    this.byteIds = data.bytes;
    this.unknown = data.unknown;
    this.joinsUnknown = data.joins_unknown;
    this.byteOf = new Map((data.bytes ?? []).map((id, byte) => [id, String.fromCharCode(byte)]));
    this.cutter = new Cutter(data);
  }

  bytesOf(id) {
    if (this.byteOf.has(id)) return this.byteOf.get(id);
    return toBytes((id === this.unknown ? this.data.surface : this.data.pieces[id]).replaceAll("\u2581", " "));
  }

  // Returns the token's text in the vocabulary.
  spellingOf(id) {
    return this.data.pieces[id];
  }

  // Appends the tokens of an ordinary text, each with the offsets of its piece in the original text.
  encode(text, out) {
    const bytes = toBytes(text);
    const { normal, places } = this.normalizer.normalize(bytes, out.reached === 0);
    const base = out.reached;
    let start = 0;
    let isBehindUnknown = false;
    for (const { word, parts } of this.cutter.cut(normal)) {
      out.beginWord(word);
      for (const { id, size } of parts) {
        const [first, last] = [places[start], places[start + size]];
        if (id !== null) out.addAt(id, base + first, base + last);
        else if (this.byteIds !== null) this.addBytes(normal.slice(start, start + size), bytes, first, last, out);
        else if (isBehindUnknown) out.stops[out.stops.length - 1] = base + last;
        else out.addAt(this.unknown, base + first, base + last);
        isBehindUnknown = this.joinsUnknown && id === null;
        start += size;
      }
    }
    out.reached = base + bytes.length;
  }

  // Appends the byte tokens of a character: each has its own offsets; if normalization changed it, the last has them all.
  addBytes(part, bytes, first, last, out) {
    const base = out.reached;
    const isText = bytes.slice(first, last) === part;
    Array.from(part).forEach((byte, at) => {
      const isLast = at === part.length - 1;
      const [start, stop] = isText ? [first + at, first + at + 1] : [first, isLast ? last : first];
      out.addAt(this.byteIds[byte.charCodeAt(0)], base + start, base + stop);
    });
  }

  steps(word, ids) {
    return this.cutter.steps(word, ids, (id) => toBytes(this.spellingOf(id)));
  }
}

// Returns the number of bytes of the character at an offset.
function sizeAt(bytes, place) {
  return Math.min(lengthOfCharacter(bytes.charCodeAt(place)), bytes.length - place);
}
