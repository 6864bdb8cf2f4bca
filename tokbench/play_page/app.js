// The page: unpacks the tokenizers that are chosen, and encodes the text whenever something changes.

const LONGEST_LINK = 8000;
const $ = (id) => document.getElementById(id);
const packed = [...document.querySelectorAll("script[data-name]")];
const unpacked = new Map();
let lists = [];
let results = [];

// A tokenizer by its number, unpacked once.
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
  const text = wellFormed($("text").value);
  const budget = Math.floor(Number($("budget").value));
  const options = { ids: $("ids").checked, bytes: $("bytes").checked, budget: budget >= 1 ? budget : 0 };
  try {
    results = lists.map((list) => list.tokenizer.encode(text, $("special").value));
    $("problem").textContent = "";
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

// The tokens of one tokenizer that the other one does not cut at the same places.
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
  $("details").replaceChildren(...detailsOf(list.tokenizer, list.tokens, at));
}

// --- the address ---

const KEPT = ["first", "second", "special", "budget"];

function fragment() {
  const fields = new URLSearchParams({ text: $("text").value });
  for (const name of KEPT) if ($(name).value !== $(name).dataset.usual) fields.set(name, $(name).value);
  return `#${fields}`;
}

function readFragment() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (fields.has("text")) $("text").value = fields.get("text");
  for (const name of KEPT) {
    const before = $(name).value;
    if (fields.has(name)) $(name).value = fields.get(name);
    if (fields.get(name) !== "" && $(name).value === "") $(name).value = before;
  }
}

async function copyLink() {
  const link = fragment();
  if (link.length > LONGEST_LINK) {
    $("told").textContent = "The text is too long for a link.";
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

// --- beginning ---

function begin() {
  packed.forEach((element, number) => {
    $("first").append(make("option", { value: number, text: element.dataset.name }));
    $("second").append(make("option", { value: number, text: element.dataset.name }));
    const files = JSON.parse(element.dataset.files).map(([name, sha256]) => make("dd", { text: `${name} sha256 ${sha256}` }));
    $("sources").append(make("dt", { text: `${element.dataset.name}: ${element.dataset.algorithm}` }), ...files);
  });
  $("second").prepend(make("option", { value: "", text: "none" }));
  $("second").value = packed.length > 1 ? "1" : "";
  $("beside").hidden = packed.length < 2;
  for (const name of KEPT) $(name).dataset.usual = $(name).value;
  readFragment();
  for (const name of ["text", "budget"]) $(name).addEventListener("input", encode);
  for (const name of ["special", "ids", "bytes"]) $(name).addEventListener("change", encode);
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
