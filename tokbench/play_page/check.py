"""Run the page's own JavaScript in this process, and compare its encoder with the tokenizer.

The engine is V8, from the package mini-racer. Ids are compared on bundled and generated texts, special tokens, and
every character.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokbench.convert.disagreement import shrink
from tokbench.convert.proof_texts import corpus_texts, generated_texts
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import quoted
from tokbench.errors import BackendUnavailableError, PageError
from tokbench.play_page.regexes import code_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.play_page.tokenizer_data import TokenizerData

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


_TEXTS_AT_ONCE = 256
_CHARACTERS_A_TEXT = 2048
_MOST_FULL_WIDTH = 64
"""Maximum number of special tokens that are tried in full-width letters."""

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_SAMPLED_ONE_IN = 64
"""Of unassigned and private-use characters only one in this many is tried."""


@dataclass(frozen=True, slots=True)
class Check:
    """The extent of a check.

    Attributes:
        texts: number of texts; those with special tokens are encoded under both policies.
        num_bytes: their UTF-8 bytes.
        characters: number of distinct characters in them.
    """

    texts: int
    num_bytes: int
    characters: int


def check_page(data: TokenizerData) -> Check:
    """Encode several thousand texts both ways.

    Args:
        data: the tokenizer, and the page's data of it.

    Raises:
        BackendUnavailableError: no JavaScript engine is installed.
        PageError: the page gives different ids for a text; the message has the shrunken text.
    """
    encoder = PageEncoder(data.to_json())
    tokenizer = data.opened.tokenizer
    texts = [
        *corpus_texts(),
        *generated_texts(sorted(tokenizer.info.special_tokens), seed=0),
        *_every_character(),
        *_full_width(tokenizer.info.special_tokens),
    ]
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        _compare(texts[start : start + _TEXTS_AT_ONCE], data, encoder)
    return Check(len(texts), sum(len(text.encode()) for text in texts), len(set().union(*texts)))


def _compare(texts: Sequence[str], data: TokenizerData, encoder: PageEncoder) -> None:
    tokenizer = data.opened.tokenizer
    names = [*tokenizer.info.special_tokens, *_full_width(tokenizer.info.special_tokens)]
    special = [text for text in texts if any(map(text.__contains__, names))]
    for policy, chosen in ((SpecialPolicy.TEXT, texts), (SpecialPolicy.ENCODE, special)):
        wanted = tokenizer.encode_batch(chosen, special=policy)
        for number, ids in enumerate(encoder.encode_batch(chosen, special=policy.value)):
            if ids != list(wanted[number]):
                raise _differs(data, chosen[number], policy, encoder)


def _full_width(names: Iterable[str]) -> list[str]:
    """Return texts that compatibility normalization (NFKC) turns into special tokens.

    >>> _full_width(["<s>"])
    ['＜ｓ＞']
    """
    return [name.translate(_FULL_WIDTH) for name in islice(names, _MOST_FULL_WIDTH)]


def _every_character() -> Iterator[str]:
    """Yield texts with each character between letters, digits and spaces, so that wrong character classes show."""
    characters = [
        chr(code)
        for code in code_points()
        if unicodedata.category(chr(code)) not in ("Cn", "Co") or code % _SAMPLED_ONE_IN == 0
    ]
    for start in range(0, len(characters), _CHARACTERS_A_TEXT):
        yield "".join(
            f"a{character} 1{character}" for character in characters[start : start + _CHARACTERS_A_TEXT]
        )


def _differs(data: TokenizerData, text: str, policy: SpecialPolicy, encoder: PageEncoder) -> PageError:
    tokenizer = data.opened.tokenizer

    def both(text: str) -> tuple[Sequence[int], Sequence[int]]:
        [found] = encoder.encode_batch([text], special=policy.value)
        return tokenizer.encode(text, special=policy), found

    def differs(text: str) -> bool:
        wanted, found = both(text)
        return wanted != found

    smallest = shrink(text, differs) if differs(text) else text
    wanted, found = both(smallest)
    return PageError(
        f"the page would give different ids than {tokenizer.info.name!r} for {quoted(smallest)}: "
        f"{_listed(found)} and not {_listed(wanted)}; nothing was written",
        hint="please report the tokenizer; `tokbench play` in the terminal is exact",
    )


def _listed(ids: Sequence[int]) -> str:
    shown = " ".join(map(str, ids[:8]))
    return f"{shown} …" if len(ids) > 8 else shown or "none"
