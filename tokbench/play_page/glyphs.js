// Visible forms of bytes: signs for spaces, line ends and control characters; bytes of incomplete characters in brackets.

const SIGNS = { " ": "·", "\n": "⏎", "\r": "␍", "\t": "→" };
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}\p{Zs}]/u;  // for display only: ids do not depend on it

// Returns the glyphs of bytes: the text to show, and whether it is a substitute.
function glyphsOf(bytes) {
  const glyphs = [];
  for (let at = 0; at < bytes.length; ) {
    const size = lengthOfCharacter(bytes.charCodeAt(at));
    const text = toText(bytes.slice(at, at + size));
    if (text === null) {
      glyphs.push({ text: `⟨${hex(bytes[at])}⟩`, isSign: true });
      at += 1;
      continue;
    }
    if (text in SIGNS) glyphs.push({ text: SIGNS[text], isSign: true });
    else if (UNSEEN.test(text)) glyphs.push({ text: `⟨U+${codePoint(text)}⟩`, isSign: true });
    else glyphs.push({ text, isSign: false });
    at += size;
  }
  return glyphs.length ? glyphs : [{ text: "⟨empty⟩", isSign: true }];
}

function shownText(bytes) {
  return glyphsOf(bytes).map((glyph) => glyph.text).join("");
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")).join(" ");
}

function codePoint(character) {
  return character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}
