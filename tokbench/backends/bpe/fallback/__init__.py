"""The BPE kernel in Python, for installations without a compiler: the same names, arguments and results.

Like the C++ kernel it gives the results of `reference.py`, but it updates the pair counts
instead of counting every pair again for each merge. The tests run on both kernels.
"""

from __future__ import annotations

from tokbench.backends.bpe.fallback.counting import PretokenCounter, WordList
from tokbench.backends.bpe.fallback.encoding import Decoder, Encoder
from tokbench.backends.bpe.fallback.parity import train_for_parity
from tokbench.backends.bpe.fallback.splitting import split
from tokbench.backends.bpe.fallback.training import continue_training, train
from tokbench.formats.tiktoken import read_ranks

__all__ = [
    "Decoder",
    "Encoder",
    "PretokenCounter",
    "WordList",
    "continue_training",
    "read_ranks",
    "split",
    "train",
    "train_for_parity",
]
