"""The kernel in Python, for installs without a compiler: the same names, arguments and results.

It is to `reference.py` what the C++ kernel is: the same result, with enough bookkeeping that
training does not count every pair again for each merge. Tests run over both.
"""

from __future__ import annotations

from tokbench.backends.bpe.fallback.counting import PretokenCounter, WordList
from tokbench.backends.bpe.fallback.encoding import Decoder, Encoder
from tokbench.backends.bpe.fallback.parity import train_for_parity
from tokbench.backends.bpe.fallback.splitting import split
from tokbench.backends.bpe.fallback.training import continue_training, train
from tokbench.backends.bpe.rank_file import read_ranks

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
