"""The counts of the counting kernel: their names, their order and their definitions.

A *run* is a stretch of text that a count examines (a word, a number, an identifier, an operator, the indentation of a
line). A token *touches* a run if they share a byte. A *boundary* is a position where a token starts or stops.
"""

from __future__ import annotations

MEANINGS = {
    "tokens": "tokens",
    "bytes": "UTF-8 bytes",
    "chars": "code points; a byte that belongs to none counts as one",
    "lines": "line feeds, and a last line without one",
    "words": "words: runs of letters, marks, digits and underscores; each letter of an unspaced script",
    "unspaced_words": "words that are one letter of a script without spaces between words",
    "split_words": "words that two tokens or more touch",
    "multibyte_chars": "characters of two bytes or more",
    "cut_chars": "characters with a boundary strictly inside",
    "language_chars": "letters, marks and numbers: characters that are neither white space, control nor punctuation",
    "covered_chars": "those of them that one token, neither UNKNOWN nor BYTE, holds whole",
    "unknown_tokens": "tokens of kind UNKNOWN",
    "fallback_tokens": "tokens of kind BYTE",
    "uncovered_bytes": "bytes that lie in tokens of these two kinds, and those of words that no token touches",
    "numbers": "maximal runs of decimal digits",
    "short_numbers": "numbers of one to three digits",
    "whole_short_numbers": "short numbers in one token that holds nothing else but white space before it",
    "number_tokens": "tokens that touch a number, over all numbers",
    "digit_boundaries": "boundaries that groups of three digits, from the right, would have",
    "digit_cuts": "boundaries strictly inside numbers",
    "digit_hits": "boundaries that are both",
    "identifiers": "words of the form [A-Za-z_][A-Za-z0-9_]*",
    "identifier_boundaries": "in identifiers: changes of case, runs of underscores, changes of letter and digit",
    "identifier_cuts": "boundaries strictly inside identifiers",
    "identifier_hits": "identifier boundaries where a token starts or stops, at either side of the underscores",
    "operators": "operators of two characters or more, the longest first, left to right",
    "isolated_operators": "operators in one token that holds nothing else but white space",
    "indented_lines": "lines that begin with a space or a tab and hold more than white space",
    "indentation_chars": "spaces and tabs that these lines begin with",
    "indentation_tokens": "tokens that touch them, over all lines",
}
"""The name of each count, with its definition."""

COUNTS = tuple(MEANINGS)
"""The names; the index of a count is its column in `Measurer.totals`, and in the result of `add` for each document."""

LONGEST_NUMBER = 16
"""Numbers of this many or more digits are counted together in `Measurer.numbers_by_length`."""

OPERATORS = (
    "==", "!=", "<=", ">=", "===", "!==", "<=>", "=~", "!~", "~=", ":=", "::", "->", "=>", "<-", "|>", "<|",
    "&&", "||", "++", "--", "**", "//", "<<", ">>", ">>>", "??", "?.", "?:", "..", "...", "..=", "..<",
    "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>=", ">>>=", "&&=", "||=", "??=",
)  # fmt: skip
"""The operators: those of C and its descendants, Python, Rust, Go, JavaScript and similar languages."""
