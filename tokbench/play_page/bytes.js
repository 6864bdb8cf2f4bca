// Bytes are represented as strings with one character for each byte, which can be compared, joined and looked up.

function toBytes(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  const parts = [];
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at);
    if (code < 0x80) {
      parts.push(code);
      continue;
    }
    if (code >= 0xd800 && code < 0xdc00) code = ((code - 0xd800) << 10) + text.charCodeAt(++at) - 0xdc00 + 0x10000;
    if (code < 0x800) parts.push(0xc0 | (code >> 6));
    else {
      if (code < 0x10000) parts.push(0xe0 | (code >> 12));
      else parts.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63));
      parts.push(0x80 | ((code >> 6) & 63));
    }
    parts.push(0x80 | (code & 63));
  }
  return fromCodes(parts);
}

function fromCodes(codes) {
  let made = "";
  for (let at = 0; at < codes.length; at += 4096) {
    made += String.fromCharCode.apply(null, codes.slice(at, at + 4096));
  }
  return made;
}

// Returns the length of a text in UTF-8, in bytes.
function sizeOf(text) {
  let size = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    size += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
  }
  return size;
}

// Returns the number of bytes of the character that starts with a byte; 1 if no character starts with it.
function lengthOfCharacter(byte) {
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// Decodes bytes; null if they are not valid UTF-8.
function toText(bytes) {
  if (/^[\x00-\x7f]*$/.test(bytes)) return bytes;
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.charCodeAt(at);
    const size = lengthOfCharacter(first);
    if ((first >= 0x80 && size === 1) || at + size > bytes.length) return null;
    let code = size === 1 ? first : first & (0x7f >> size);
    for (let behind = 1; behind < size; behind++) {
      const byte = bytes.charCodeAt(at + behind);
      if ((byte & 0xc0) !== 0x80) return null;
      code = (code << 6) | (byte & 63);
    }
    text += String.fromCodePoint(code);
    at += size;
  }
  return text;
}
