"""Map split patterns as other tools spell them to the names of the patterns that our scanners implement."""

from __future__ import annotations

from functools import cache

_SPELLINGS = {
    "gpt2": (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    ),
}
"""Spellings equivalent to a named pattern, other than its own."""


def pattern_names() -> tuple[str, ...]:
    """Return the names of the patterns that our scanners implement.

    >>> "gpt4o" in pattern_names()
    True
    """
    from tokbench.backends.bpe.split_patterns import PATTERN_NAMES

    return PATTERN_NAMES


def known_pattern(pattern: str) -> tuple[str, str | None]:
    r"""Return a pattern's name and its text in our definition; ("custom", the text) for any other pattern.

    Names are accepted, too. `qwen2` names only the way to split: whether text is normalized to NFC first is a separate
    setting of the file.

    >>> known_pattern(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")[0]
    'gpt2'
    >>> known_pattern(r"\w+|\W+")
    ('custom', '\\w+|\\W+')
    """
    from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern

    if pattern in PATTERN_NAMES:
        return pattern, resolve_pattern(pattern).regex
    # Some files contain line breaks themselves, others their escapes; inside and outside of classes both mean
    # the same character.
    escaped = pattern.replace("\r", r"\r").replace("\n", r"\n")
    name = _names().get(escaped)
    return (name, resolve_pattern(name).regex) if name else ("custom", pattern)


def checked_pattern(pattern: str) -> str:
    """Return a user's pattern. Raises `ConfigError` if it is custom and invalid, or leaves out parts of texts."""
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
