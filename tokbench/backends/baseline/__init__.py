"""Three tokenizers to compare with: one token a byte, one a character, one a word."""

from tokbench.backends.baseline.byte import ByteBackend
from tokbench.backends.baseline.frequent import CharBackend, WordBackend

__all__ = ["ByteBackend", "CharBackend", "WordBackend"]
