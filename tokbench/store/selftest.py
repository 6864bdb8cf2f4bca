"""The self-test of a saved tokenizer: texts that are awkward to tokenize, and the ids they must have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import SelfTestError, TokbenchError

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.store.manifest import Manifest

_FIXED_TEXTS = (
    "The quick brown fox doesn't jump; it's 'asleep' — WE'LL see, naïve façade.",
    "def f(x):\n    if x:\n\t\treturn {'a_b': [x ** 2, camelCase]}\r\n\n\n    # done\n",
    "東京タワーは高い。价格：¥１２３，안녕하세요 세계",
    "العَرَبِيَّة لغة جميلة، والأرقام ١٢٣٤.",
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️‍🔥",
    "0 12 345 6789 1234567 3.14159 1e-10 ½ Ⅻ ٣",
    "  two   three\t\ttabs \n \n\n  end\u3000\u00a0\u2028 ",
    "e\u0301a\u0308 Z\u0351\u036b\u0343 नमस्ते ไทย I\u0307 ſ",
)

# Blocks in which every code point was assigned long ago, so that no Unicode table disagrees on them.
_BLOCKS = (
    (0x0020, 0x007E),  # ASCII
    (0x00A1, 0x017F),  # Latin
    (0x0300, 0x036F),  # combining marks
    (0x0391, 0x03A1),  # Greek
    (0x0410, 0x044F),  # Cyrillic
    (0x05D0, 0x05EA),  # Hebrew
    (0x0621, 0x063A),  # Arabic
    (0x0905, 0x0939),  # Devanagari
    (0x0E01, 0x0E3A),  # Thai
    (0x2000, 0x200F),  # spaces, joiners, directions
    (0x2190, 0x21FF),  # arrows
    (0x3041, 0x3096),  # Hiragana
    (0x4E00, 0x9FA5),  # Han
    (0xAC00, 0xD7A3),  # Hangul
    (0x10330, 0x1034A),  # Gothic
    (0x1F600, 0x1F64F),  # emoji
)
_GENERATED_TEXTS = 4
_RUNS = 12
_LONGEST_RUN = 6
_IDS_SHOWN = 8
_TEXT_SHOWN = 40


def self_test_texts(*, seed: int) -> tuple[str, ...]:
    """Texts for a self-test: a fixed set of the awkward kinds, and some drawn from the seed.

    >>> from tokbench.store import self_test_texts
    >>> self_test_texts(seed=1) == self_test_texts(seed=1) != self_test_texts(seed=2)
    True
    """
    import random

    source = random.Random(seed)  # noqa: S311 -- test texts, not secrets
    return _FIXED_TEXTS + tuple(_generated_text(source) for _ in range(_GENERATED_TEXTS))


def self_test(tokenizer: Tokenizer, manifest: Manifest, *, path: Path) -> None:
    """Hold a loaded tokenizer to the ids that its manifest recorded.

    Args:
        tokenizer: as loaded.
        manifest: what it was loaded with.
        path: what error messages call it.

    Raises:
        SelfTestError: a text has other ids now; the first one is named.
    """
    for sample in manifest.self_test:
        expected = list(sample.ids)
        try:
            found = list(map(int, tokenizer.encode(sample.text)))
        except TokbenchError as error:
            raise _self_test_error(manifest, path, sample.text, expected, found=str(error)) from error
        if found != expected:
            start = _first_difference(expected, found)
            raise _self_test_error(
                manifest, path, sample.text, expected, found=_shown(found, start=start), start=start
            )


def _generated_text(source: random.Random) -> str:
    return "".join(_run(source, *source.choice(_BLOCKS)) for _ in range(_RUNS))


def _run(source: random.Random, first: int, last: int) -> str:
    return "".join(chr(source.randint(first, last)) for _ in range(source.randint(1, _LONGEST_RUN)))


def _self_test_error(
    manifest: Manifest, path: Path, text: str, expected: Sequence[int], *, found: str, start: int = 0
) -> SelfTestError:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(manifest.versions.items()))
    text_shown = text if len(text) <= _TEXT_SHOWN else f"{text[: _TEXT_SHOWN - 1]}…"
    return SelfTestError(
        path,
        f"{_shown(expected, start=start)} for the text {text_shown!r}",
        found,
        hint=f"a file of it or a library has changed; it was saved with {versions or 'unknown versions'}: "
        "restore those, or train again",
    )


def _first_difference(expected: Sequence[int], found: Sequence[int]) -> int:
    """The first position where two lists of ids part.

    >>> _first_difference([1, 2, 3], [1, 2]), _first_difference([1, 2, 3], [1, 5, 3])
    (2, 1)
    """
    pairs = enumerate(zip(expected, found, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(expected), len(found)))


def _shown(ids: Sequence[int], *, start: int) -> str:
    """A few ids from a little before `start`, with what was left off.

    >>> _shown(range(20), start=10)
    'ids [… 8, 9, 10, 11, 12, 13, 14, 15 …]'
    """
    first = max(0, start - 2)
    shown = ", ".join(map(str, ids[first : first + _IDS_SHOWN]))
    before, after = "… " if first else "", " …" if first + _IDS_SHOWN < len(ids) else ""
    return f"ids [{before}{shown}{after}]"
