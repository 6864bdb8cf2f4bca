// The page: unpacks the selected tokenizers, and encodes the text after every change.

const LONGEST_LINK = 8000;
const $ = (id) => document.getElementById(id);
const packed = [...document.querySelectorAll("script[data-name]")];
const unpacked = new Map();
const adviceOfDetails = [...$("details").childNodes];
const FIRST_TALK = [{ role: "user", content: "What does a tokenizer do?" }, { role: "assistant", content: "It cuts text into tokens." }];
let lists = [];
let results = [];
let editor = null;

// Returns a tokenizer by its number; unpacks it only once.
function tokenizerOf(number) {
  if (!unpacked.has(number)) unpacked.set(number, unpack(packed[number].textContent));
  return unpacked.get(number);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new PageTokenizer(JSON.parse(await new Response(stream).text()));
}

async function choose() {
  const numbers = [Number($("first").value), ...($("second").value === "" ? [] : [Number($("second").value)])];
  $("views").setAttribute("aria-busy", "true");
  const tokenizers = await Promise.all(numbers.map(tokenizerOf));
  lists = tokenizers.map((tokenizer, number) => new TokenList(tokenizer, number, showDetails));
  $("views").replaceChildren(...lists.map((list) => list.element));
  $("views").setAttribute("aria-busy", "false");
  encode();
}

function encode() {
  const budget = Math.floor(Number($("budget").value));
  const options = { ids: $("ids").checked, bytes: $("bytes").checked, budget: budget >= 1 ? budget : 0 };
  $("problem").textContent = "";
  hideDetails();
  if (isChat()) encodeChat(options);
  else encodeText(wellFormed($("text").value), options);
}

function encodeText(text, options) {
  try {
    results = lists.map((list) => list.tokenizer.encode(text, $("special").value));
  } catch (error) {
    if (!(error instanceof SpecialTokenFound)) throw error;
    results = lists.map(() => new Tokens());
    $("problem").textContent = `Refused: ${error.message}.`;
  }
  const comparable = results.length === 2 && !results.some((each) => each.isNormalized);
  const size = sizeOf(text);
  lists.forEach((list, number) => {
    const differing = comparable ? cutOtherwise(results[number], results[1 - number]) : null;
    list.show(results[number], size, options, differing);
  });
}

// Each tokenizer renders the conversation with its own template, so that offsets of two tokenizers are not comparable.
function encodeChat(options) {
  results = lists.map((list) => {
    const { chat, data } = list.tokenizer;
    if (chat === null) {
      list.showNone(`No conversations: ${data.chat.reason}.`);
      return new Tokens();
    }
    try {
      const encoded = chat.encode(editor.messages, $("prompt").checked);
      list.show(encoded.tokens, sizeOf(encoded.text), options, null, new ChatNotes(encoded, editor.messages));
      return encoded.tokens;
    } catch (error) {
      if (!(error instanceof NotWritten)) throw error;
      list.showNone(`Not shown: ${error.message}.`);
      return new Tokens();
    }
  });
}

function isChat() {
  return $("as-chat").checked;
}

function showKind() {
  $("plain").hidden = $("policy").hidden = isChat();
  $("chat").hidden = !isChat();
}

// Returns which tokens of one tokenizer have other boundaries than those of the other.
function cutOtherwise(tokens, others) {
  const place = ({ starts, stops }, at) => starts[at] * 2 ** 26 + stops[at] - starts[at];
  const places = new Set(others.starts.map((_, at) => place(others, at)));
  const found = new Set();
  tokens.starts.forEach((_, at) => {
    if (!places.has(place(tokens, at))) found.add(at);
  });
  return found;
}

function showDetails(list, at) {
  $("details").replaceChildren(...detailsOf(list, at));
  for (const table of $("details").querySelectorAll("table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;  // so that keys can scroll it
  }
}

// After a change no token is selected, and the last one may not exist any more.
function hideDetails() {
  if (adviceOfDetails[0].parentNode === null) $("details").replaceChildren(...adviceOfDetails);
}

// --- the page's address ---

const KEPT = ["first", "second", "special", "budget"];

function fragment() {
  const fields = new URLSearchParams(isChat() ? { chat: packedMessages(editor.messages) } : { text: $("text").value });
  if (isChat() && $("prompt").checked) fields.set("prompt", "1");
  for (const name of KEPT) if ($(name).value !== $(name).dataset.usual) fields.set(name, $(name).value);
  return `#${fields}`;
}

function readFragment() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (fields.has("text")) $("text").value = fields.get("text");
  const messages = fields.has("chat") ? unpackedMessages(fields.get("chat")) : null;
  if (messages !== null && !$("kind").hidden) {
    editor.set(messages);
    $("prompt").checked = fields.get("prompt") === "1";
    $("as-chat").checked = true;
  } else if (fields.has("text")) $("as-text").checked = true;
  showKind();
  for (const name of KEPT) {
    const before = $(name).value;
    if (fields.has(name)) $(name).value = fields.get(name);
    if (fields.get(name) !== "" && $(name).value === "") $(name).value = before;
  }
}

async function copyLink() {
  const link = fragment();
  if (link.length > LONGEST_LINK) {
    $("told").textContent = "This is too long for a link.";
    return;
  }
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(location.href);
    $("told").textContent = "Copied.";
  } catch {
    $("told").textContent = "The link is in the address bar now.";
  }
}

// --- start ---

function begin() {
  packed.forEach((element, number) => {
    $("first").append(make("option", { value: number, text: element.dataset.name }));
    $("second").append(make("option", { value: number, text: element.dataset.name }));
    const files = JSON.parse(element.dataset.files).map(([name, sha256]) => make("dd", { text: `${name} sha256 ${sha256}` }));
    const chat = make("dd", { text: element.dataset.chat });
    $("sources").append(make("dt", { text: `${element.dataset.name}: ${element.dataset.algorithm}` }), ...files, chat);
  });
  $("second").prepend(make("option", { value: "", text: "none" }));
  $("second").value = packed.length > 1 ? "1" : "";
  $("beside").hidden = packed.length < 2;
  for (const name of KEPT) $(name).dataset.usual = $(name).value;
  $("kind").hidden = !packed.some((element) => "hasChat" in element.dataset);
  editor = new ChatEditor($("messages"), encode);
  editor.set(FIRST_TALK);
  readFragment();
  for (const name of ["text", "budget"]) $(name).addEventListener("input", encode);
  for (const name of ["as-text", "as-chat"]) $(name).addEventListener("change", () => { showKind(); encode(); });
  $("add").addEventListener("click", () => editor.add());
  for (const name of ["special", "ids", "bytes", "prompt"]) $(name).addEventListener("change", encode);
  for (const name of ["first", "second"]) $(name).addEventListener("change", choose);
  $("link").addEventListener("click", copyLink);
  addEventListener("hashchange", () => {
    readFragment();
    choose();
  });
  if (typeof DecompressionStream === "undefined") {
    $("problem").textContent = "This browser cannot unpack the vocabulary: one of 2023 or later can.";
    return;
  }
  choose();
}

begin();
