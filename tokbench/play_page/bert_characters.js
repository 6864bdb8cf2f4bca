// The normalization of characters for WordPiece, as a table: it does not depend on the browser's version of Unicode.

const [ITSELF, GONE, SPACE_BETWEEN, ALONE, OTHER] = [0, 1, 2, 3, 4];

class BertCharacters {
  // Each field contains the first and last code points of ranges; `others` the replacements of other characters.
  constructor({ gone, spaces, alone, others, moving, cleaned }) {
    this.kinds = new Uint8Array(0x110000);
    for (const [kind, ranges] of [[GONE, gone], [SPACE_BETWEEN, spaces], [ALONE, alone]]) {
      for (let at = 0; at < ranges.length; at += 2) this.kinds.fill(kind, ranges[at], ranges[at + 1] + 1);
    }
    this.others = new Map(Object.entries(others));
    for (const character of this.others.keys()) this.kinds[character.codePointAt(0)] = OTHER;
    this.moving = classOfRanges(moving);
    this.cleaned = classOfRanges(cleaned);
  }

  // Returns the text with the marks that are kept in canonical order.
  ordered(text) {
    if (this.moving === null || !this.moving.test(text)) return text;
    const kept = this.cleaned === null ? text : Array.from(text).filter((each) => !this.cleaned.test(each)).join("");
    return kept.normalize("NFD");
  }

  // Returns the replacement of a character; a space separates words.
  made(character, code) {
    switch (this.kinds[code]) {
      case ITSELF: return character;
      case GONE: return "";
      case SPACE_BETWEEN: return " ";
      case ALONE: return ` ${character} `;
      default: return this.others.get(character);
    }
  }
}

function classOfRanges(ranges) {
  if (ranges.length === 0) return null;
  const spelled = [];
  for (let at = 0; at < ranges.length; at += 2) {
    spelled.push(`\\u{${ranges[at].toString(16)}}-\\u{${ranges[at + 1].toString(16)}}`);
  }
  return new RegExp(`[${spelled.join("")}]`, "u");
}
