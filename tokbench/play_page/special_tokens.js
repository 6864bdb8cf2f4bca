// Splits texts at special and other added tokens: the leftmost match first, and the longest of those that start together.

const WHITE_SPACE =
  /[\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000]/;

class SpecialTokens {
  // `found` lists [text, id, strips white space on its left, on its right, is special]; a token that is not special
  // is matched under every policy.
  constructor(found) {
    this.byText = new Map(found.map((each) => [each[0], each]));
    this.all = patternOf(found);
    this.everywhere = patternOf(found.filter((each) => !each[4]));
  }

  // Returns the parts of a text, each with its token or null. Throws `SpecialTokenFound` under the policy "raise".
  cut(text, policy) {
    const pattern = policy === "text" ? this.everywhere : this.all;
    const found = pattern === null ? [] : Array.from(text.matchAll(pattern), (match) => [match.index, match[0]]);
    const refused = policy === "raise" ? found.find((each) => this.byText.get(each[1])[4]) : undefined;
    if (refused !== undefined) throw new SpecialTokenFound(refused[1], sizeOf(text.slice(0, refused[0])));
    return this.cutAt(text, found);
  }

  // Returns the parts of a text, given its matches as [start, text].
  cutAt(text, found) {
    const parts = [];
    let reached = 0;
    for (const [place, spelled] of found) {
      const token = this.byText.get(spelled);
      let start = place;
      let stop = start + spelled.length;
      while (token[2] && start > reached && WHITE_SPACE.test(text[start - 1])) start--;
      while (token[3] && stop < text.length && WHITE_SPACE.test(text[stop])) stop++;
      if (reached < start) parts.push({ text: text.slice(reached, start), token: null });
      parts.push({ text: text.slice(start, stop), token });
      reached = stop;
    }
    if (reached < text.length) parts.push({ text: text.slice(reached), token: null });
    return parts;
  }
}

function patternOf(found) {
  const longestFirst = found.map((each) => each[0]).sort((one, other) => other.length - one.length);
  const escaped = longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return escaped.length ? new RegExp(escaped.join("|"), "gu") : null;
}

class SpecialTokenFound extends Error {
  constructor(text, offset) {
    super(`the text has the special token ${text} at byte ${offset}`);
  }
}
