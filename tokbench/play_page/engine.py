"""An engine that runs the page's own JavaScript in this process: V8 from the package mini-racer."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tokbench.errors import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENCODER_FILES = (
    "bytes.js",
    "special_tokens.js",
    "byte_level.js",
    "bert_characters.js",
    "wordpiece.js",
    "sentencepiece_normalizer.js",
    "sentencepiece.js",
    "character_bpe.js",
    "character_document.js",
    "unigram.js",
    "unigram_document.js",
    "chat.js",
    "tokenizer.js",
)
"""The encoders, which do not depend on a browser."""

_MOST_SECONDS = 300
_BATCH_CHARACTERS = 1 << 20


def encoder_source() -> str:
    """Return the source of the encoders, as it is on the page."""
    return '"use strict";\n' + "\n".join(packaged(name) for name in ENCODER_FILES)


def packaged(name: str) -> str:
    """Return the contents of a file in this package."""
    return files("tokbench.play_page").joinpath(name).read_text("utf-8")


def require_engine() -> None:
    """Raise `BackendUnavailableError` if no JavaScript can be run."""
    try:
        import py_mini_racer  # noqa: F401
    except ImportError:
        raise BackendUnavailableError(
            "a page is written only after its encoders gave the same ids here: that needs the package mini-racer",
            hint="pip install 'tokbench[play-page]'",
        ) from None


class PageEncoder:
    """A tokenizer as run by the page.

    Args:
        data: the page's data of the tokenizer.

    Raises:
        BackendUnavailableError: mini-racer is not installed.
    """

    def __init__(self, data: str) -> None:
        require_engine()
        from py_mini_racer import MiniRacer

        self._engine = MiniRacer()
        self._run(f"{encoder_source()}\nvar tokenizer = new PageTokenizer({data});\n{_ENCODE_ALL}\n0")

    def encode_batch(self, texts: Sequence[str], *, special: str) -> list[list[int]]:
        """Return the ids of each text under a special policy of the page, "text" or "encode"."""
        found: list[list[int]] = []
        for batch in _batches(texts):
            found += json.loads(self._run(f"encodeAll({json.dumps(batch)}, {json.dumps(special)})"))
        return found

    def encode_chats(self, talks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Encode conversations, each with `messages` and `prompt`, as the page does; `refused` if it shows none."""
        return json.loads(self._run(f"encodeChats({json.dumps(talks)})"))  # type: ignore[no-any-return]

    def _run(self, source: str) -> Any:
        return self._engine.eval(source, timeout_sec=_MOST_SECONDS)


_ENCODE_ALL = """
function encodeAll(texts, policy) {
  return JSON.stringify(texts.map((text) => tokenizer.encode(text, policy).ids));
}
function encodeChats(talks) {
  return JSON.stringify(talks.map(({ messages, prompt }) => {
    try {
      const { text, tokens, refused, isLearned, owners } = tokenizer.chat.encode(messages, prompt);
      return { text, ids: tokens.ids, learned: isLearned, owners, found: refused };
    } catch (error) {
      if (!(error instanceof NotWritten)) throw error;
      return { refused: error.message };
    }
  }));
}
"""


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Group texts into batches, so that each source stays small."""
    batches: list[list[str]] = []
    room = 0
    for text in texts:
        if room < len(text) or not batches:
            batches.append([])
            room = _BATCH_CHARACTERS
        batches[-1].append(text)
        room -= len(text)
    return batches
