"""The counts of the counting kernel: their names, their order and their definitions.

A *run* is a stretch of text that a count examines (a word, a number, an identifier, an operator, the indentation of a
line). A token *touches* a run if they share a byte. A *boundary* is a position where a token starts or stops.
"""

from __future__ import annotations

MEANINGS = {
    "tokens": "tokens",
    "bytes": "UTF-8 bytes",
    "chars": "code points; a byte that belongs to none counts as one character",
    "lines": "line feeds, and a last line without one",
    "words": "words, as in UAX 29: runs of letters, marks, numbers and underscores, across an apostrophe between "
    "letters and a point or comma between digits; each letter of an unspaced script",
    "unspaced_words": "words that are one letter of a script without spaces between words",
    "split_words": "words touched by two or more tokens",
    "multibyte_chars": "characters of two bytes or more",
    "cut_chars": "characters with a boundary strictly inside",
    "language_chars": "letters, marks (and joiners between letters) and numbers; no punctuation and no symbols",
    "covered_chars": "`language_chars` within a single token of a kind other than UNKNOWN and BYTE",
    "unknown_tokens": "tokens of kind UNKNOWN",
    "fallback_tokens": "tokens of kind BYTE",
    "uncovered_bytes": "bytes of UNKNOWN and BYTE tokens, and of words that no token touches",
    "numbers": "maximal runs of decimal digits",
    "short_numbers": "numbers of one to three digits",
    "whole_short_numbers": "short numbers in a token that contains nothing else except white space before the number",
    "number_tokens": "tokens that touch a number, summed over numbers",
    "digit_boundaries": "boundaries of groups of three digits from the right",
    "digit_cuts": "boundaries strictly inside numbers",
    "digit_hits": "digit cuts that are digit boundaries",
    "identifiers": "words of the form [A-Za-z_][A-Za-z0-9_]*",
    "identifier_boundaries": "in identifiers (words of ASCII letters, digits and underscores that do not begin with a "
    "digit, in program code): changes of case, runs of underscores, changes between letter and digit",
    "identifier_cuts": "boundaries strictly inside identifiers",
    "identifier_hits": "identifier boundaries where a token starts or stops, on either side of the underscores",
    "operators": "operators of two or more characters, longest match first, left to right",
    "isolated_operators": "operators in a token that contains nothing else except white space",
    "indented_lines": "lines that start with a space or a tab and contain more than white space",
    "indentation_chars": "spaces and tabs at the start of indented lines",
    "indentation_tokens": "tokens that touch a line's indentation, summed over lines",
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
