// The editor of a conversation, and the notes on its tokens.

const CHAT_ROLES = Object.keys(ROLE_LETTERS);

// The messages as form controls: a role, the content, and a button that removes the message.
class ChatEditor {
  constructor(list, changed) {
    this.list = list;
    this.changed = changed;
    this.messages = [];
    list.addEventListener("input", () => this.read());
    list.addEventListener("change", () => this.read());
    list.addEventListener("click", (event) => {
      const item = event.target.closest("button")?.closest("li");
      if (item) this.remove(Number(item.dataset.at));
    });
  }

  set(messages) {
    this.messages = messages;
    this.list.replaceChildren(...messages.map((message, at) => this.item(message, at)));
  }

  item({ role, content }, at) {
    const choice = make("select", { id: `role-${at}`, class: "role" }, ...CHAT_ROLES.map((each) => make("option", { value: each, text: each })));
    choice.value = role;
    const said = make("textarea", { id: `said-${at}`, rows: Math.min(8, content.split("\n").length + 1), spellcheck: "false", autocapitalize: "off", autocomplete: "off", dir: "auto", "aria-label": `Message ${at} says` });
    said.value = content;
    const remove = make("button", { type: "button", text: "Remove", "aria-label": `Remove message ${at}` });
    return make("li", { "data-at": at }, make("p", {}, make("label", { for: choice.id, text: `Message ${at} by` }), choice, remove), said);
  }

  read() {
    this.messages = Array.from(this.list.children, (item) => ({
      role: item.querySelector("select").value,
      content: wellFormed(item.querySelector("textarea").value),
    }));
    this.changed();
  }

  // Adds a message of the role that usually follows: an answer after a question.
  add() {
    const last = this.messages[this.messages.length - 1];
    const role = last !== undefined && last.role === "user" ? "assistant" : "user";
    this.set([...this.messages, { role, content: "" }]);
    this.list.lastElementChild.querySelector("textarea").focus();
    this.changed();
  }

  remove(at) {
    this.set(this.messages.filter((_, other) => other !== at));
    const near = this.list.children[Math.min(at, this.messages.length - 1)];
    if (near !== undefined) near.querySelector("textarea").focus();
    this.changed();
  }
}

// Notes of a conversation for the list of tokens.
class ChatNotes {
  constructor({ isControl, isLearned, isRefused, owners, refused }, messages) {
    Object.assign(this, { isControl, isLearned, isRefused, owners, refused, messages });
  }

  get summary() {
    const count = this.isLearned.filter(Boolean).length;
    const share = this.isLearned.length ? ` (${Math.round((100 * count) / this.isLearned.length)} %)` : "";
    const kept = [...new Set(this.refused.map((each) => each[2]))];
    return ` · ${count.toLocaleString("en")} learned${share}${kept.length ? ` · stays text: ${kept.join(" ")}` : ""}`;
  }

  // Returns a heading if a token is the first of a message, else null.
  headingAt(at) {
    if (at > 0 && this.owners[at] === this.owners[at - 1]) return null;
    return this.ownerAt(at);
  }

  ownerAt(at) {
    const owner = this.owners[at];
    return owner === null ? "the template" : `message ${owner}, ${this.messages[owner].role}`;
  }

  classesAt(at) {
    const classes = { special: this.isControl[at], learned: this.isLearned[at], unlearned: !this.isLearned[at], refused: this.isRefused[at] };
    return Object.keys(classes).filter((name) => classes[name]).join(" ");
  }

  labelAt(at) {
    const kinds = [
      ...(this.isControl[at] ? ["control token"] : []),
      this.isLearned[at] ? "learned" : "not learned",
      ...(this.isRefused[at] ? ["text that looks like a control token"] : []),
    ];
    return `${kinds.join(", ")}, of ${this.ownerAt(at)}`;
  }
}

// Serializes a conversation for a link, and parses it; null if it is invalid.
function packedMessages(messages) {
  return JSON.stringify(messages.map(({ role, content }) => [role, content]));
}

function unpackedMessages(text) {
  try {
    const messages = JSON.parse(text).map(([role, content]) => ({ role, content }));
    return messages.every(({ role, content }) => CHAT_ROLES.includes(role) && typeof content === "string") ? messages : null;
  } catch {
    return null;
  }
}
