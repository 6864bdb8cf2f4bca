// The display of tokens: a list for each tokenizer, and the details of one token.

const DRAWN_AT_ONCE = 400;
const COLOURS = 5;

function make(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function tokenCell(bytes, colour) {
  const cell = make("span", { class: `token c${colour % COLOURS}` });
  for (const { text, isSign } of glyphsOf(bytes)) cell.append(isSign ? make("i", { text }) : text);
  return cell;
}

// The list of one tokenizer's tokens, with one selected by mouse or keys.
class TokenList {
  constructor(tokenizer, number, choose) {
    this.tokenizer = tokenizer;
    this.number = number;
    this.choose = choose;
    this.count = make("p", { class: "count" });
    this.list = make("ol", { class: "tokens", role: "listbox", tabindex: "0", "aria-label": `Tokens of ${tokenizer.name}` });
    this.more = make("button", { type: "button", text: "Show more tokens" });  // like scrolling
    this.element = make("section", {}, make("h2", { text: tokenizer.name }), this.count, this.list, this.more);
    this.drawn = 0;
    this.chosen = -1;
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[role=option]");
      if (item !== null) this.select(Number(item.dataset.at));
    });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.more.addEventListener("click", () => this.drawMore());
    this.list.addEventListener("scroll", () => {
      const below = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight;
      if (below < this.list.clientHeight) this.drawMore();
    });
  }

  // `notes` are the notes of a conversation, or null for a text.
  show(tokens, size, options, differing, notes = null) {
    Object.assign(this, { tokens, options, differing, notes, chosen: -1 });
    const parts = options.budget ? `, ${plural(Math.ceil(tokens.ids.length / options.budget), "part")}` : "";
    const ratio = tokens.ids.length ? ` · ${(size / tokens.ids.length).toFixed(2)} bytes/token` : "";
    const others = differing === null ? "" : ` · ${plural(differing.size, "token")} split differently`;
    const summary = notes === null ? "" : notes.summary;
    this.count.textContent = `${plural(tokens.ids.length, "token")}${parts} · ${plural(size, "byte")}${ratio}${others}${summary}`;
    this.drawAnew();
  }

  // Shows the reason why there are no tokens.
  showNone(why) {
    Object.assign(this, { tokens: new Tokens(), differing: null, notes: null, chosen: -1 });
    this.count.textContent = why;
    this.drawAnew();
  }

  drawAnew() {
    this.drawn = 0;
    this.list.replaceChildren();
    this.list.removeAttribute("aria-activedescendant");
    this.drawMore();
  }

  // Draws the next tokens; those of a long text are drawn only when they are scrolled to.
  drawMore() {
    const stop = Math.min(this.tokens.ids.length, this.drawn + DRAWN_AT_ONCE);
    const items = document.createDocumentFragment();
    for (let at = this.drawn; at < stop; at++) {
      if (this.options.budget && at % this.options.budget === 0) {
        items.append(make("li", { class: "part", role: "presentation", text: `part ${at / this.options.budget + 1}, from token ${at + 1}` }));
      }
      const heading = this.notes === null ? null : this.notes.headingAt(at);
      if (heading !== null) items.append(make("li", { class: "part", role: "presentation", text: heading }));
      items.append(this.item(at));
      if (this.bytesAt(at).endsWith("\n")) items.append(make("li", { class: "break", role: "presentation" }));
    }
    this.list.append(items);
    this.drawn = stop;
    this.more.hidden = stop === this.tokens.ids.length;
  }

  bytesAt(at) {
    return this.tokenizer.bytesOf(this.tokens.ids[at]);
  }

  item(at) {
    const id = this.tokens.ids[at];
    const bytes = this.bytesAt(at);
    const isSpecial = this.notes === null ? this.tokenizer.isSpecial(id) : this.notes.isControl[at];
    const differs = this.differing !== null && this.differing.has(at);
    const kind = this.notes !== null ? `${this.notes.labelAt(at)}, ` : isSpecial ? "special, " : "";
    const label = `${shownText(bytes)}, id ${id}, ${kind}bytes ${hex(bytes)}${differs ? ", split differently by the other tokenizer" : ""}`;
    const item = make("li", { role: "option", id: `token-${this.number}-${at}`, "data-at": at, "aria-selected": "false", "aria-label": label, title: label });
    item.className = this.notes !== null ? this.notes.classesAt(at) : `${isSpecial ? "special" : ""} ${differs ? "differs" : ""}`;
    item.append(tokenCell(bytes, at));
    if (this.options.ids) item.append(make("span", { class: "below", text: id }));
    if (this.options.bytes) item.append(make("span", { class: "below", text: hex(bytes) }));
    return item;
  }

  select(at) {
    if (at < 0 || at >= this.tokens.ids.length) return;
    while (at >= this.drawn) this.drawMore();
    const items = this.list.querySelectorAll("[role=option]");
    if (this.chosen >= 0) items[this.chosen].setAttribute("aria-selected", "false");
    this.chosen = at;
    items[at].setAttribute("aria-selected", "true");
    items[at].scrollIntoView({ block: "nearest" });
    this.list.setAttribute("aria-activedescendant", items[at].id);
    this.choose(this, at);
  }

  onKey(event) {
    const last = this.tokens.ids.length - 1;
    const row = () => this.tokenInNextRow(event.key === "ArrowDown" ? 1 : -1);
    const moves = {
      ArrowRight: () => this.chosen + 1,
      ArrowLeft: () => Math.max(this.chosen - 1, 0),
      ArrowDown: row,
      ArrowUp: row,
      Home: () => 0,
      End: () => last,
    };
    if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.select(Math.min(moves[event.key](), last));
  }

  // Returns the token above or below the selected one.
  tokenInNextRow(step) {
    const items = this.list.querySelectorAll("[role=option]");
    if (this.chosen < 0) return 0;
    const { left, top } = items[this.chosen].getBoundingClientRect();
    let row = null;
    let best = this.chosen;
    for (let at = this.chosen + step; at >= 0 && at < items.length; at += step) {
      const box = items[at].getBoundingClientRect();
      if (Math.abs(box.top - top) < 4) continue;
      if (row !== null && Math.abs(box.top - row) > 4) break;
      if (row === null || Math.abs(box.left - left) < Math.abs(items[best].getBoundingClientRect().left - left)) best = at;
      row = box.top;
    }
    return best;
  }
}

// Creates the details of a token: its bytes, its characters, and the steps of its word.
function detailsOf({ tokenizer, tokens, notes }, at) {
  const id = tokens.ids[at];
  const bytes = tokenizer.bytesOf(id);
  const text = toText(bytes);
  const spelling = tokenizer.spellingOf(id) ?? shownText(bytes);
  const rows = [
    ["token", shownText(bytes)],
    ["id", String(id)],
    ...(notes === null ? [] : [["what", notes.labelAt(at)]]),
    ...(spelling === shownText(bytes) ? [] : [["piece", spelling]]),
    ["bytes", hex(bytes)],
    ["characters", text === null ? "not complete" : Array.from(text, (each) => `U+${codePoint(each)}`).join(" ")],
    ["place", `bytes ${tokens.starts[at]} to ${tokens.stops[at]}${tokens.isNormalized ? " of the normalized text" : notes !== null ? " of the rendered conversation" : ""}`],
  ];
  const table = make("table", {}, ...rows.map(([head, value]) => make("tr", {}, make("th", { scope: "row", text: head }), make("td", { text: value }))));
  const word = tokens.words[tokens.wordOf[at]];
  const steps = word === null ? [] : tokenizer.model.steps(word, tokens.ids.filter((_, other) => tokens.wordOf[other] === tokens.wordOf[at]));
  const found = notes === null ? "A special token is found before anything else." : "The template wrote it: no text of a message becomes a control token.";
  const rule = word === null ? [make("p", { text: found })] : [];
  return [make("h2", { text: `Token ${at + 1} of ${tokens.ids.length}, ${tokenizer.name}` }), table, ...rule, ...(steps.length ? [stepTable(word, steps)] : [])];
}

const STEPS_SHOWN = 200;

function stepTable(word, steps) {
  const table = make("table", {});
  table.append(make("caption", { text: `How ${shownText(word).slice(0, 200)} was encoded` }));
  for (const { label, parts } of steps.slice(0, STEPS_SHOWN)) {
    const cells = make("td", {}, ...parts.slice(0, STEPS_SHOWN).map(tokenCell));
    table.append(make("tr", {}, make("th", { scope: "row", text: label }), cells));
  }
  if (steps.length > STEPS_SHOWN) table.append(make("tr", {}, make("td", { text: `… and ${steps.length - STEPS_SHOWN} more` })));
  return table;
}

function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
