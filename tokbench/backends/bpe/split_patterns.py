"""Split patterns: regular expressions that split a text into pre-tokens, across which merges never reach.

A named pattern is recognized by its name or its text, runs on the native scanners, and is saved
with both. Any other pattern is custom: it runs on the `regex` package, which is also the reference that
the scanners are tested against, and in the kernel where `split_programs/compiled.py` can compile it; set
operations in its character classes are read as tiktoken reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

from tokbench.core.normal_forms import nfc
from tokbench.core.wording import near_names
from tokbench.errors import ConfigError

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_REGEXES: dict[str, str | None] = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "gpt4": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "gpt4o": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "llama3": _LLAMA3,
    "qwen2": _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"),
    "nanochat": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "rustbpe": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    # Like gpt4, but camelCase is split into its words (getUserName, HTTPServer; snake_case already is,
    # since "_" may precede letters), and a run of two or more spaces or tabs stays whole instead of
    # giving its last character to the next word: an indentation is one pre-token.
    "code": (
        r"'(?i:[sdmt]|ll|ve|re)"
        r"|[^\r\n\t\p{L}\p{N}]?+(?:[\p{Lu}\p{Lt}]+(?!\p{Ll})|[\p{Lu}\p{Lt}]?[\p{Ll}\p{Lm}\p{Lo}]+)"
        r"|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|[ \t][ \t]++|\t|\s++$|\s+(?!\S)|\s"
    ),
    # The pattern of SuperBPE's second stage, in which tokens may contain several words: it separates digits, runs of
    # two or more punctuation characters, and white space. SuperBPE has only the first three alternatives and keeps
    # the text between their matches; here the last alternative matches that text.
    "superwords": (
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
        r"|(?: ?\p{L}++|[^\S ]++| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])| (?=\p{N}))++"
    ),
    "none": None,
}

PATTERN_NAMES = tuple(_REGEXES)
"""The names of all named patterns, in the order in which they are listed to users."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")

_PROBE_CHARACTERS = "aAǅʰ亜\u0301\u0488٣5Ⅷ½ \t\r\n\v\u0085\u00a0\u3000'ſs.,_/-(€\u200d\x00👩\ue000\U0010ffff"


@dataclass(frozen=True, slots=True)
class SplitPattern:
    """A split pattern and its spellings for other tools.

    Attributes:
        name: one of `PATTERN_NAMES`, or "custom".
        regex: the expression for `regex` and `tiktoken`; None for "none" (the document is one pre-token).
        normalization: "nfc" if the text is normalized to NFC before it is split, else None.
    """

    name: str
    regex: str | None
    normalization: Literal["nfc"] | None = None

    @property
    def is_custom(self) -> bool:
        """Whether the pattern has no name, and so no native scanner."""
        return self.name == "custom"

    @property
    def kernel_name(self) -> str | None:
        """The name of the pattern in the kernels; None for a custom pattern, for which they have no scanner."""
        return None if self.is_custom else self.name

    @property
    def oniguruma(self) -> str | None:
        """The same pattern in the syntax of Oniguruma, the regex library of `tokenizers`."""
        from tokbench.formats.tokenizer_json import for_oniguruma

        return None if self.regex is None else for_oniguruma(self.regex)

    def normalized(self, text: str) -> str:
        r"""Return the text normalized as it is before splitting; unchanged if the pattern does not normalize.

        >>> SplitPattern("none", None, normalization="nfc").normalized("e\u0301")
        'é'
        """
        return text if self.normalization is None else nfc(text)


def resolve_pattern(pattern: str) -> SplitPattern:
    r"""Return the pattern with a name, or a checked pattern of a regular expression.

    Raises:
        ConfigError: it does not compile, matches the empty string, leaves gaps, or looks like an unknown name.

    >>> resolve_pattern("gpt4").is_custom
    False
    >>> resolve_pattern(r"\w+|\W+").name
    'custom'
    """
    if pattern in _REGEXES:
        return SplitPattern(
            name=pattern, regex=_REGEXES[pattern], normalization="nfc" if pattern == "qwen2" else None
        )
    for name, text in _REGEXES.items():
        if text == pattern and name != "qwen2":
            return SplitPattern(name=name, regex=text)
    if _NAME.fullmatch(pattern):
        raise _no_such_pattern(pattern)
    _check_custom(pattern)
    return SplitPattern(name="custom", regex=pattern)


def split(pattern: SplitPattern, text: str) -> list[str]:
    """Split a text into pre-tokens with the `regex` package: the definition of every pattern.

    The text is not normalized. Raises `ConfigError` if a custom pattern leaves a gap or matches
    the empty string.

    >>> split(resolve_pattern("gpt4"), "It's 12345 o'clock")
    ['It', "'s", ' ', '123', '45', ' o', "'clock"]
    """
    if not text:
        return []
    if pattern.regex is None:
        return [text]
    return _matches(pattern.regex, text)


def split_offsets(pattern: SplitPattern, text: str) -> list[int]:
    """Return the UTF-8 byte offsets at which the pre-tokens of a text end.

    >>> split_offsets(resolve_pattern("gpt2"), "é é")
    [2, 5]
    """
    pretokens = split(pattern, text)
    return list(accumulate(map(len, pretokens if text.isascii() else map(str.encode, pretokens))))


def _matches(regex_text: str, text: str) -> list[str]:
    compiled = _compiled(regex_text)
    if not compiled.groups:
        pretokens: list[str] = compiled.findall(text)
        # Matches do not overlap, so there is no gap if their lengths add up.
        if sum(map(len, pretokens)) == len(text) and all(pretokens):
            return pretokens
    pretokens, position = [], 0
    for match in compiled.finditer(text):
        if match.start() != position or match.end() == position:
            raise _gap(regex_text, text, position)
        position = match.end()
        pretokens.append(match.group())
    if position != len(text):
        raise _gap(regex_text, text, position)
    return pretokens


def _no_such_pattern(name: str) -> ConfigError:
    """Return the error for an unknown name, which as a regular expression would match only itself."""
    near = near_names(name, PATTERN_NAMES, most=2)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return ConfigError(
        f"there is no split pattern {name!r}",
        hint=f"{meant}{_named_hint()}; a regular expression works too",
    )


def _gap(regex_text: str, text: str, position: int) -> ConfigError:
    around = text[max(0, position - 10) : position + 10]
    return ConfigError(
        f"the split pattern {regex_text!r} matches nothing at character {position} of the text ({around!r})",
        hint=r"every character must belong to a pre-token: end the pattern with an alternative such as |\s+|.",
    )


@lru_cache(maxsize=32)
def _compiled(regex_text: str) -> Any:
    import regex

    from tokbench.formats.set_operations import without_set_operations

    return regex.compile(without_set_operations(regex_text))


def _check_custom(regex_text: str) -> None:
    import regex

    if not regex_text:
        raise ConfigError("the split pattern is empty", hint=_named_hint())
    try:
        compiled = _compiled(regex_text)
    except regex.error as error:
        raise ConfigError(
            f"the split pattern {regex_text!r} is not a name and does not compile: {error}",
            hint=_named_hint(),
        ) from None
    if compiled.fullmatch("") is not None or compiled.match("") is not None:
        raise ConfigError(
            f"the split pattern {regex_text!r} matches the empty string",
            hint="a pre-token has at least one character: use + instead of *",
        )
    for character in _PROBE_CHARACTERS:
        _matches(regex_text, f"a{character}a {character} 1{character}")


def _named_hint() -> str:
    return f"the named patterns are {', '.join(PATTERN_NAMES)}"
