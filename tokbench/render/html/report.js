"use strict";
(() => {
  // --- sortable tables ---

  // Compares numbers by value and texts alphabetically; unknown values are last in both directions.
  function compare(one, other, sign) {
    const unknown = one.hasAttribute("data-none") - other.hasAttribute("data-none");
    if (unknown !== 0 || one.hasAttribute("data-none")) return unknown;
    if ("value" in one.dataset && "value" in other.dataset) {
      return sign * (Number(one.dataset.value) - Number(other.dataset.value));
    }
    return sign * one.textContent.localeCompare(other.textContent, "en", { numeric: true });
  }

  function sort(head) {
    const table = head.closest("table");
    const heads = [...head.parentElement.children];
    const column = heads.indexOf(head);
    const first = head.dataset.first;
    const second = first === "ascending" ? "descending" : "ascending";
    const direction = head.getAttribute("aria-sort") === first ? second : first;
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => compare(one.cells[column], other.cells[column], sign));
    table.tBodies[0].append(...rows);
  }

  for (const head of document.querySelectorAll("table.sortable thead th")) {
    head.querySelector("button").addEventListener("click", () => sort(head));
  }

  // --- the tokens of a line ---

  const viewer = document.getElementById("viewer");
  if (viewer === null) return;

  const { tokenizers, samples, first } = JSON.parse(document.getElementById("data").textContent);
  const UNCOVERED = -1, STAND_IN = 1, CUT = 2, COLORS = 5;
  const KINDS = {
    byte: "a byte of a character that has no token",
    unknown: "unknown: the text is lost",
    special: "a special token",
    uncovered: "in no token",
  };
  const select = document.getElementById("line");
  const rows = document.getElementById("rows");
  const tip = document.getElementById("tip");
  const shown = tokenizers.map(() => true);
  let tokens = [];  // of all rows shown, in the page's order

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // Returns the tokens of one tokenizer in a line, and their details.
  function tokensOf(number, row) {
    const { looks, tokens } = tokenizers[number];
    const found = [];
    for (let at = 0; at < row.length; at += 3) {
      const [id, kind, absent, runs] = looks[row[at]];
      found.push({ number, id, kind, absent, runs, start: row[at + 1], stop: row[at + 2], facts: tokens[id] });
    }
    return found;
  }

  // Baselines of bytes and characters split nearly everywhere, so that no boundary of the others would be marked.
  function areCompared(chosen) {
    const compared = chosen.filter(([number]) => !tokenizers[number].is_baseline);
    return compared.length > 1 ? compared : chosen;
  }

  function boundaries(row) {
    const edges = new Set();
    for (const { start, stop } of row) {
      if (stop > start) edges.add(start).add(stop);
    }
    return edges;
  }

  function intersection(sets) {
    const [one, ...others] = sets;
    return new Set([...(one ?? [])].filter((edge) => others.every((set) => set.has(edge))));
  }

  function tokenElement(token, turn, differs) {
    const color = token.kind === "normal" || token.kind === "byte" ? ` turn-${turn % COLORS}` : "";
    const element = make("li", `token ${token.kind}${color}${turn % 2 ? " odd" : ""}`);
    element.classList.toggle("absent", token.absent);
    element.classList.toggle("differs", differs);
    element.tabIndex = -1;
    for (let at = 0; at < token.runs.length; at += 2) {
      const flags = token.runs[at + 1];
      const run = make("span", "", token.runs[at]);
      run.classList.toggle("stand-in", (flags & STAND_IN) !== 0);
      run.classList.toggle("cut", (flags & CUT) !== 0);
      element.append(run);
    }
    return element;
  }

  // Creates one tokenizer's row; boundaries in `common` are not marked, and none is marked if it is null.
  function rowElement([number, row], sample, common) {
    const count = row.filter((token) => token.id !== UNCOVERED).length;
    const each = count ? `, ${(sample.bytes / count).toFixed(2)} bytes each` : "";
    const head = make("div", "row-head");
    head.append(make("strong", "", tokenizers[number].name));
    head.append(make("span", "faint", ` ${tokenizers[number].about} · ${count} tokens${each}`));
    const list = make("ol", "tokens");
    list.dir = sample.direction;
    list.setAttribute("aria-label", `${tokenizers[number].name}: ${count} tokens`);
    let marked = 0;
    row.forEach((token, turn) => {
      const isBoundary = token.start > marked && token.start < sample.bytes;
      const differs = isBoundary && common !== null && !common.has(token.start);
      if (differs) marked = token.start;
      token.element = tokenElement(token, turn, differs);
      list.append(token.element);
    });
    const element = make("div", "row");
    element.append(head, list);
    return element;
  }

  function show() {
    const sample = samples[select.selectedIndex];
    const found = tokenizers.map((_, number) => tokensOf(number, sample.rows[number]));
    const chosen = [...found.entries()].filter(([number]) => shown[number]);
    const compared = areCompared(chosen);
    const common = intersection(compared.map(([, row]) => boundaries(row)));
    tip.hidden = true;
    rows.replaceChildren(
      ...chosen.map((pair) => rowElement(pair, sample, compared.includes(pair) ? common : null)),
    );
    tokens = chosen.flatMap(([, row]) => row);
    if (tokens.length) tokens[0].element.tabIndex = 0;
    document.getElementById("place").textContent =
      `${select.selectedIndex + 1} of ${samples.length} · ${sample.source} · ` +
      `${sample.characters} characters, ${sample.bytes} bytes`;
  }

  function go(step) {
    select.selectedIndex = (select.selectedIndex + step + samples.length) % samples.length;
    show();
  }

  // --- details of a token ---

  function facts(token) {
    const place = `at ${token.start} to ${token.stop}`;
    if (token.id === UNCOVERED) return [KINDS.uncovered, place];
    const [bytes, times, rank] = token.facts;
    const often = times
      ? `rank ${rank.toLocaleString("en")} by frequency (${times.toLocaleString("en")} in the text)`
      : "not in the text that was evaluated";
    const known = [`id ${token.id}`, `bytes ${bytes || "none"}`, often];
    if (token.kind in KINDS) known.push(KINDS[token.kind]);
    known.push(token.absent ? "covers no text" : place);
    return known;
  }

  function showTip(token) {
    hideTip();
    tip.replaceChildren(...facts(token).map((fact) => make("span", "", fact)));
    tip.hidden = false;
    const around = viewer.getBoundingClientRect();
    const box = token.element.getClientRects()[0];
    const left = Math.min(box.left - around.left, around.width - tip.offsetWidth);
    tip.style.left = `${Math.max(left, 0)}px`;
    tip.style.top = `${box.bottom - around.top + 12}px`;
    token.element.setAttribute("aria-describedby", "tip");
    for (const other of tokens) {
      const overlaps = other.start < token.stop && token.start < other.stop;
      other.element.classList.toggle("same", overlaps && other.number !== token.number);
    }
  }

  function hideTip() {
    tip.hidden = true;
    for (const { element } of tokens) {
      element.classList.remove("same");
      element.removeAttribute("aria-describedby");
    }
  }

  function tokenAt(target) {
    const element = target instanceof Element ? target.closest(".token") : null;
    return element === null ? undefined : tokens.find((token) => token.element === element);
  }

  function focus(token) {
    if (token === undefined) return;
    for (const { element } of tokens) element.tabIndex = -1;
    token.element.tabIndex = 0;
    token.element.focus();
  }

  // --- keyboard navigation ---

  function neighbour(token, key) {
    const row = tokens.filter((other) => other.number === token.number);
    const at = row.indexOf(token);
    const forward = samples[select.selectedIndex].direction === "rtl" ? -1 : 1;
    switch (key) {
      case "ArrowRight": return row[at + forward];
      case "ArrowLeft": return row[at - forward];
      case "Home": return row[0];
      case "End": return row[row.length - 1];
    }
    const numbers = [...new Set(tokens.map((other) => other.number))];
    const number = numbers[numbers.indexOf(token.number) + (key === "ArrowDown" ? 1 : -1)];
    const there = tokens.filter((other) => other.number === number);
    return there.find((other) => other.stop > token.start) ?? there[there.length - 1];
  }

  rows.addEventListener("keydown", (event) => {
    const token = tokenAt(event.target);
    if (token === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      hideTip();
    } else if (event.key === "n" || event.key === "p") {
      go(event.key === "n" ? 1 : -1);
      focus(tokens[0]);
    } else if (["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) {
      focus(neighbour(token, event.key));
    } else {
      return;
    }
    event.preventDefault();
  });
  for (const kind of ["pointerover", "focusin"]) {
    rows.addEventListener(kind, (event) => {
      const token = tokenAt(event.target);
      if (token === undefined) hideTip();
      else showTip(token);
    });
  }
  rows.addEventListener("pointerleave", hideTip);
  rows.addEventListener("focusout", hideTip);

  // --- selection ---

  const groups = new Map();
  for (const { group, label } of samples) {
    if (!groups.has(group)) {
      const options = document.createElement("optgroup");
      options.label = group || "(no group)";
      groups.set(group, options);
      select.append(options);
    }
    groups.get(group).append(make("option", "", `${group}: ${label}`));
  }
  select.addEventListener("change", show);
  document.getElementById("previous").addEventListener("click", () => go(-1));
  document.getElementById("next").addEventListener("click", () => go(1));
  tokenizers.forEach(({ name }, number) => {
    const box = make("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => {
      shown[number] = box.checked;
      show();
    });
    const label = make("label", "", ` ${name}`);
    label.prepend(box);
    document.getElementById("shown").append(label);
  });
  select.selectedIndex = first;
  viewer.hidden = false;
  show();
})();
