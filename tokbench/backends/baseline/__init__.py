"""Baseline tokenizers for comparison: one token per byte, per character, or per word."""

from tokbench.backends.baseline.byte import ByteBackend
from tokbench.backends.baseline.frequent import CharBackend, WordBackend

__all__ = ["ByteBackend", "CharBackend", "WordBackend"]
