// Conversations: rendered with a chat template's table; control tokens are matched only in the template's own text.

const ROLE_LETTERS = { system: "s", user: "u", assistant: "a" };
const TRIMMED = { " ": " ", "\n": "\n", "*": "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000" };
const BLANK = new RegExp(`^[${TRIMMED["*"]}]*$`);

const DOMAINS = {
  ANY: () => true,
  SYSTEM_FIRST: (roles) => !behindSystem(roles).includes("system"),
  USER_FIRST: (roles) => !behindSystem(roles).includes("system") && behindSystem(roles)[0] === "user",
  BY_TURNS: (roles) => behindSystem(roles).length > 0 && behindSystem(roles).every((role, place) => role === ["user", "assistant"][place % 2]),
};
const DOMAINS_TOLD = {
  SYSTEM_FIRST: "a system message, if there is one, comes first",
  USER_FIRST: "the user comes first, after at most one system message",
  BY_TURNS: "user and assistant alternate, after at most one system message",
};

function behindSystem(roles) {
  return roles[0] === "system" ? roles.slice(1) : roles;
}

// Thrown for a conversation that the table does not cover.
class NotWritten extends Error {}

class ChatForm {
  constructor({ gaps, contents, system_last, domain, limits }) {
    Object.assign(this, { gaps, contents, domain, limits, isSystemLast: system_last });
  }

  // Renders a conversation in parts: the text, its message or null, whether it is trusted, and whether it is learned.
  write(messages, isPrompt) {
    this.check(messages);
    const order = this.orderOf(messages);
    const end = isPrompt ? ">" : "$";
    const letters = ["^", ...order.map((message) => ROLE_LETTERS[messages[message].role]), end];
    const parts = [];
    const addContent = (place) => {
      const [left, right, isLearned] = this.found(this.contents, letters.slice(place, place + 3).join(""));
      const text = trimmed(messages[order[place]].content, left, right);
      parts.push({ text, owner: order[place], isTrusted: false, isLearned });
    };
    const addGap = (first, stop, behind) => {
      const inside = order.slice(first + 1, stop).map((message) => ROLE_LETTERS[messages[message].role] + silence(messages[message].content));
      const key = [letters[first + 1], ...inside, ...(stop < order.length ? [letters[stop + 1]] : []), behind].join("");
      for (const [text, owner, isTrusted, isLearned] of this.found(this.gaps, key)) {
        if (text === null) addContent(first + owner);
        else parts.push({ text, owner: owner === null ? null : order[first + owner], isTrusted, isLearned });
      }
    };
    let first = -1;
    order.forEach((message, place) => {
      if (BLANK.test(messages[message].content)) return;
      addGap(first, place, place + 1 < order.length ? "+" : end);
      addContent(place);
      first = place;
    });
    addGap(first, order.length, end);
    return parts.filter((part) => part.text !== "");
  }

  check(messages) {
    if (!DOMAINS[this.domain](messages.map((message) => message.role))) {
      throw new NotWritten(`on this page the template works only if ${DOMAINS_TOLD[this.domain]}; tokbench chat has no such limit`);
    }
    messages.forEach(({ role, content }, number) => {
      const limit = this.limits.find(([whose, text]) => whose === role && content.includes(text));
      if (limit !== undefined) {
        throw new NotWritten(`message ${number} contains ${limit[1]}, which the template interprets and this page does not; use tokbench chat`);
      }
    });
  }

  orderOf(messages) {
    const order = messages.map((_, message) => message);
    const last = messages.map((message) => message.role).lastIndexOf("user");
    if (!this.isSystemLast || order.length === 0 || messages[0].role !== "system" || last < 0) return order;
    return [...order.slice(1, last), 0, ...order.slice(last)];
  }

  found(table, key) {
    if (!Object.hasOwn(table, key)) throw new NotWritten(whyNot(key));
    return table[key];
  }
}

// Describes a key that the table does not have.
function whyNot(key) {
  if (key === "^$" || key === "^>") return "there are no messages";
  const names = { s: "system", u: "user", a: "assistant", "^": "the beginning", $: "the end", ">": "the header of an answer" };
  const spelled = Array.from(key).filter((letter) => letter in names).map((letter) => names[letter]).join(" → ");
  if (/[012]/.test(key)) return `a message is blank (${spelled}); write something into it`;
  return `the template refuses this: ${spelled}`;
}

// Returns the code for a blank message in keys: empty, spaces, other white space.
function silence(text) {
  return text === "" ? "0" : /^ +$/.test(text) ? "1" : "2";
}

function trimmed(text, left, right) {
  const before = left === "" ? text : text.replace(new RegExp(`^[${TRIMMED[left]}]+`), "");
  return right === "" ? before : before.replace(new RegExp(`[${TRIMMED[right]}]+$`), "");
}

// Encodes conversations for one tokenizer.
class ChatEncoder {
  constructor(tokenizer, data) {
    this.tokenizer = tokenizer;
    this.form = new ChatForm(data);
    this.isComposed = tokenizer.data.nfc === true;
    const own = new Set(data.controls);
    const listed = tokenizer.data.special;
    this.disguise = disguiseOf(tokenizer, data.controls.filter((text) => !tokenizer.special.byText.has(text)));
    this.controls = new SpecialTokens([...listed.filter((each) => own.has(each[0])), ...this.disguise.found]);
    this.others = new SpecialTokens(listed.filter((each) => !own.has(each[0]) && !each[4]));
  }

  // Returns the tokens of a conversation, and for each: whether it is a control token, whether it is learned, whether it
  // is user text that looks like a control token, and its message.
  encode(messages, isPrompt) {
    const said = messages.map(({ role, content }) => ({ role, content: this.isComposed ? content.normalize("NFC") : content }));
    const parts = this.form.write(said, isPrompt);
    const text = parts.map((part) => part.text).join("");
    const trusted = trustedRanges(parts);
    const found = this.foundIn(text, trusted);
    const out = new Tokens();
    const isControl = [];
    for (const part of this.disguise.joined(this.controls.cutAt(text, found))) {
      if (part.token !== null) {
        isControl[out.ids.length] = true;
        out.addSpecial(part.token[1], sizeOf(part.text));
      } else if (part.disguised !== undefined) this.disguise.encode(part.disguised, out, isControl);
      else for (const inner of this.others.cut(part.text, "text")) this.tokenizer.encodePart(inner, out);
    }
    if (out.isNormalized) throw new NotWritten("the marks of a character are not in Unicode's canonical order; use tokbench chat");
    const refused = this.refused(text, trusted);
    return { text, tokens: out, refused, ...this.placed(parts, text, refused, out, isControl) };
  }

  // Returns the control tokens that consist of the template's own characters only.
  foundIn(text, trusted) {
    if (this.controls.all === null) return [];
    return trusted.flatMap(([start, stop]) =>
      [...text.slice(start, stop).matchAll(this.controls.all)].map((match) => [start + match.index, match[0]]));
  }

  // Returns the offsets of texts of control tokens with characters that are not the template's, without nested ones.
  refused(text, trusted) {
    const places = [];
    for (const token of this.controls.byText.keys()) {
      for (let start = text.indexOf(token); start >= 0; start = text.indexOf(token, start + 1)) {
        const stop = start + token.length;
        if (!trusted.some(([first, last]) => first <= start && stop <= last)) places.push([start, stop, token]);
      }
    }
    places.sort((one, other) => one[0] - other[0] || other[1] - one[1]);
    const outermost = [];
    for (const place of places) {
      if (outermost.length === 0 || place[1] > outermost[outermost.length - 1][1]) outermost.push(place);
    }
    return outermost;
  }

  placed(parts, text, refused, out, isControl) {
    const edges = [];
    let reached = 0;
    for (const part of parts) {
      edges.push(reached);
      reached += sizeOf(part.text);
    }
    const wrong = refused.map(([start, stop]) => [sizeOf(text.slice(0, start)), sizeOf(text.slice(0, stop))]);
    const placed = { isControl: [], isLearned: [], isRefused: [], owners: [] };
    let at = 0;
    out.ids.forEach((_, number) => {
      const start = out.starts[number];
      const stop = Math.max(out.stops[number], start + 1);  // a token without bytes belongs to the following character
      while (at + 1 < parts.length && edges[at + 1] <= start) at++;
      let isLearned = false;
      for (let part = at; part < parts.length && edges[part] < stop; part++) isLearned ||= parts[part].isLearned;
      placed.isLearned.push(isLearned);
      placed.owners.push(parts[at].owner);
      placed.isControl.push(isControl[number] === true);
      placed.isRefused.push(wrong.some(([first, last]) => first < stop && start < last));
    });
    return placed;
  }
}

// Control tokens that a SentencePiece model itself matches in every text. A copy of the model has an unused character
// for each, so that typed text remains text, and the model still treats the spaces next to a control token.
class Disguise {
  constructor(tokenizer, texts) {
    const { pieces, symbols } = tokenizer.data;
    this.found = texts.map((text) => [text, pieces.indexOf(text), false, false, true]);
    const disguises = new Map(texts.map((text, number) => [text, String.fromCodePoint(0xf0000 + number)]));
    const respelled = (text) => disguises.get(text) ?? text;
    const data = { ...tokenizer.data, pieces: pieces.map(respelled), symbols: symbols.map(respelled), chat: null };
    this.spelled = disguises;
    this.ids = new Set(this.found.map((each) => each[1]));
    this.copy = new PageTokenizer(data);
  }

  // Joins the parts of a text between special tokens; each result lists the parts that it consists of.
  joined(parts) {
    const made = [];
    for (const part of parts) {
      if (part.token !== null && !this.ids.has(part.token[1])) made.push(part);
      else if (made.length && made[made.length - 1].disguised) made[made.length - 1].disguised.push(part);
      else made.push({ token: null, disguised: [part] });
    }
    return made;
  }

  encode(parts, out, isControl) {
    const shown = parts.map(({ text, token }) => (token === null ? text : this.spelled.get(text)));
    if (parts.some(({ text, token }) => token === null && /[\u{f0000}-\u{fffff}]/u.test(text))) {
      throw new NotWritten("the text contains a private-use character of Unicode's last planes; use tokbench chat");
    }
    const [own, real] = [shown, parts.map((part) => part.text)].map(edgesOf);
    const made = this.copy.encode(shown.join(""));
    const base = out.reached;
    out.words.push(...made.words);
    const first = out.words.length - made.words.length;
    made.ids.forEach((id, number) => {
      const start = moved(made.starts[number], own, real, (edge, place) => edge <= place);
      const stop = Math.max(start, moved(made.stops[number], own, real, (edge, place) => edge < place));
      isControl[out.ids.length] = this.ids.has(id);
      out.addAt(id, base + start, base + stop);
      out.wordOf[out.wordOf.length - 1] = this.ids.has(id) ? out.words.push(null) - 1 : first + made.wordOf[number];
    });
    out.reached = base + real[real.length - 1];
  }
}

const NO_DISGUISE = { found: [], joined: (parts) => parts };

function disguiseOf(tokenizer, texts) {
  return texts.length ? new Disguise(tokenizer, texts) : NO_DISGUISE;
}

// Returns the start of each text in their concatenation, in bytes, and the end of the last.
function edgesOf(texts) {
  const edges = [0];
  for (const text of texts) edges.push(edges[edges.length - 1] + sizeOf(text));
  return edges;
}

// Maps an offset in texts to one in their replacements; `isBehind` decides at a boundary of two texts.
function moved(place, edges, others, isBehind) {
  let part = 0;
  while (part + 2 < edges.length && isBehind(edges[part + 1], place)) part++;
  if (place === edges[part + 1]) return others[part + 1];
  return others[part] + Math.min(place - edges[part], others[part + 1] - others[part]);
}

// Returns the maximal ranges of the text that only the template wrote.
function trustedRanges(parts) {
  const ranges = [];
  let reached = 0;
  for (const { text, isTrusted } of parts) {
    const last = ranges[ranges.length - 1];
    if (isTrusted && last !== undefined && last[1] === reached) last[1] += text.length;
    else if (isTrusted) ranges.push([reached, reached + text.length]);
    reached += text.length;
  }
  return ranges;
}
