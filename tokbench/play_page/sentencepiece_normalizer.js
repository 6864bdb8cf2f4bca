// SentencePiece's normalizer: keeps user-defined symbols, replaces the longest key of a table at each offset, removes
// or adds spaces, and writes them as ▁.

class SentencePieceNormalizer {
  constructor({ charsmap, symbols, add_prefix, add_suffix, removes_spaces, marks_spaces }) {
    this.table = charsmap === "" ? null : new ReplacementTable(charsmap);
    this.symbols = new Map();
    for (const symbol of symbols.map(toBytes).sort((one, other) => other.length - one.length)) {
      if (!this.symbols.has(symbol[0])) this.symbols.set(symbol[0], []);
      this.symbols.get(symbol[0]).push(symbol);
    }
    Object.assign(this, { addPrefix: add_prefix, addSuffix: add_suffix, removes: removes_spaces });
    this.space = marks_spaces ? SPACE_SIGN : " ";
  }

  // Returns the longest user-defined symbol at an offset, or undefined.
  symbolAt(bytes, place) {
    return this.symbols.get(bytes[place])?.find((symbol) => bytes.startsWith(symbol, place));
  }

  // Returns the normalized bytes, and for each of them, and for their end, the offset in the original text.
  normalize(bytes, isFirst) {
    const made = [];
    const places = [];
    const add = (part, place) => {
      made.push(part);
      for (let at = 0; at < part.length; at++) places.push(place);
    };
    let place = this.removes ? this.behindSpaces(bytes) : 0;
    if (place === bytes.length) return { normal: "", places: [] };
    if (this.addsPrefix(bytes, isFirst)) add(this.space, place);
    let isBehindSpace = this.removes;
    while (place < bytes.length) {
      const { size, part } = this.unitAt(bytes, place);
      const kept = isBehindSpace ? part.replace(/^ +/, "") : part;
      if (kept !== "") {
        add(kept.includes(" ") ? kept.replaceAll(" ", this.space) : kept, place);
        isBehindSpace = this.removes && kept.endsWith(" ");
      }
      place += size;
    }
    let normal = made.join("");
    while (this.removes && normal.endsWith(this.space)) {
      normal = normal.slice(0, -this.space.length);
      place = places[normal.length];
      places.length = normal.length;
    }
    if (this.addSuffix) {
      normal += this.space;
      for (let at = 0; at < this.space.length; at++) places.push(place);
    }
    places.push(place);
    return { normal, places };
  }

  // Returns whether a space is added before a part of a text; `isFirst` is whether it is the first part.
  addsPrefix(_bytes, _isFirst) {
    return this.addPrefix;
  }

  behindSpaces(bytes) {
    let place = 0;
    while (place < bytes.length) {
      const { size, part } = this.unitAt(bytes, place);
      if (part !== " ") break;
      place += size;
    }
    return place;
  }

  // Returns the number of bytes of the unit at an offset, and their replacement before spaces are treated.
  unitAt(bytes, place) {
    const symbol = this.symbolAt(bytes, place);
    if (symbol !== undefined) return { size: symbol.length, part: symbol };
    const found = this.table === null ? null : this.table.longest(bytes, place);
    if (found !== null) return found;
    const size = sizeAt(bytes, place);
    return { size, part: bytes.slice(place, place + size) };
  }
}

// The keys of a table in a double array, in the layout of Darts-clone, and their replacements.
class ReplacementTable {
  constructor(base64) {
    const table = Uint8Array.from(fromBase64(base64), (byte) => byte.charCodeAt(0));
    const view = new DataView(table.buffer);
    const size = view.getUint32(0, true);
    this.units = Uint32Array.from({ length: size / 4 }, (_, at) => view.getUint32(4 + 4 * at, true));
    this.replacements = fromCodes(Array.from(table.subarray(4 + size)));
  }

  // Returns the replacement of the shortest key that is a prefix of the bytes, or null.
  shortest(bytes) {
    for (let stop = 1; stop <= bytes.length; stop++) {
      const found = this.longest(bytes.slice(0, stop), 0);
      if (found !== null) return found.part;
    }
    return null;
  }

  longest(bytes, start) {
    let place = offsetOf(this.units[0]);
    let [size, value] = [0, 0];
    for (let stop = start + 1; stop <= bytes.length; stop++) {
      const byte = bytes.charCodeAt(stop - 1);
      place ^= byte;
      const unit = this.units[place];
      if (((unit & 0x800000ff) >>> 0) !== byte) break;
      place ^= offsetOf(unit);
      if ((unit >>> 8) & 1) [size, value] = [stop - start, this.units[place] & 0x7fffffff];
    }
    if (size === 0) return null;
    return { size, part: this.replacements.slice(value, this.replacements.indexOf("\0", value)) };
  }
}

function offsetOf(unit) {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

const BASE64_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Not `atob`, which exists only in browsers.
function fromBase64(text) {
  const codes = [];
  let [bits, held] = [0, 0];
  for (const sign of text.replace(/=+$/, "")) {
    held = ((held << 6) | BASE64_SIGNS.indexOf(sign)) & 0xfffff;
    bits += 6;
    if (bits >= 8) codes.push((held >> (bits -= 8)) & 255);
  }
  return fromCodes(codes);
}
