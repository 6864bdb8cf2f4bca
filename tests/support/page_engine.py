"""V8 for tests of the page's JavaScript; they are skipped where mini-racer is not installed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tokbench.play_page.check import encoder_source

CALLS = """
const made = new Map();
function keep(name, data) {
  made.set(name, new PageTokenizer(JSON.parse(data)));
  return 0;
}
function tokenizerOf(data) {
  if (!made.has(data)) made.set(data, new PageTokenizer(JSON.parse(data)));
  return made.get(data);
}
function encode(data, text, policy) {
  try {
    const { ids, starts, stops } = tokenizerOf(data).encode(wellFormed(text), policy);
    return { ids, spans: starts.map((start, at) => [start, stops[at]]) };
  } catch (error) {
    return { error: error.message };
  }
}
function idsOf(data, texts, policy) {
  return texts.map((text) => encode(data, text, policy).ids);
}
function steps(data, word, ids) {
  return tokenizerOf(data).model.steps(word, ids).map(({ label, parts }) => [label, parts.join("|")]);
}
function bytes(text) {
  return [toBytes(text), sizeOf(text), toText(toBytes(text))];
}
"""


class Engine:
    """A V8 context that has evaluated some source."""

    def __init__(self, source: str) -> None:
        racer = pytest.importorskip("py_mini_racer", reason="pip install mini-racer")
        self._context = racer.MiniRacer()
        self._context.eval(f"{source}\n0")

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function with plain data, and return its result as plain data."""
        given = ", ".join(map(json.dumps, arguments))
        return json.loads(self._context.eval(f"JSON.stringify({function}({given}))"))


def page_engine() -> Engine:
    """Return the encoders of the page, with functions for tests: `encode`, `idsOf`, `steps` and `bytes`.

    All but `bytes` take the data of a tokenizer, or the name under which `keep` stored it.
    """
    return Engine(encoder_source() + CALLS)
