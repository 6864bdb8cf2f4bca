"""Split patterns as other tools spell them, by the names that our scanners know them by."""

from __future__ import annotations

from functools import cache

_SPELLINGS = {
    "gpt2": (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    ),
}
"""Texts that mean what a named pattern means, besides its own."""


def pattern_names() -> tuple[str, ...]:
    """The names of the patterns that our scanners know.

    >>> "gpt4o" in pattern_names()
    True
    """
    from tokbench.backends.bpe.split_patterns import PATTERN_NAMES

    return PATTERN_NAMES


def known_pattern(pattern: str) -> tuple[str, str | None]:
    r"""The name of a pattern, and its text as our definition has it; ("custom", the text) for any other.

    A name is taken too. `qwen2` is a way to split here: whether text is brought to NFC before is
    another question, which the file answers.

    >>> known_pattern(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")[0]
    'gpt2'
    >>> known_pattern(r"\w+|\W+")
    ('custom', '\\w+|\\W+')
    """
    from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern

    if pattern in PATTERN_NAMES:
        return pattern, resolve_pattern(pattern).regex
    # Some files hold the line ends themselves where others hold their escapes: inside and outside
    # of classes both are the same character.
    escaped = pattern.replace("\r", r"\r").replace("\n", r"\n")
    name = _names().get(escaped)
    return (name, resolve_pattern(name).regex) if name else ("custom", pattern)


def checked_pattern(pattern: str) -> str:
    """A pattern as a user gives it. Raises `ConfigError` for one that is not a name and leaves out parts of texts."""
    from tokbench.backends.bpe.split_patterns import resolve_pattern

    if known_pattern(pattern)[0] == "custom":
        resolve_pattern(pattern)
    return pattern


@cache
def _names() -> dict[str, str]:
    from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern

    names = {text: name for name, texts in _SPELLINGS.items() for text in texts}
    for name in PATTERN_NAMES:
        resolved = resolve_pattern(name)
        if resolved.regex is not None:
            names[resolved.regex] = name
            names[resolved.oniguruma or resolved.regex] = name
    return names
