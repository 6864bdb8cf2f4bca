"""Metrics of the token distribution: entropy, utilization, ranks and lengths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tokbench.metrics.metric import ratio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RENYI_ALPHA = 2.5
"""The order at which Zouhar et al. 2023 found the best agreement with translation quality."""

_NEARLY_ONE = 1e-8
"""Within this distance of order 1, the difference to Shannon's entropy is below the formula's rounding error."""


def shannon_efficiency(frequencies: NDArray[np.int64]) -> float | None:
    """Return the Shannon entropy of the token distribution over its maximum; `renyi_efficiency` of order 1.

    >>> import numpy as np
    >>> shannon_efficiency(np.array([2, 1, 1, 0]))
    0.75
    """
    return renyi_efficiency(frequencies, alpha=1)


def renyi_efficiency(frequencies: NDArray[np.int64], *, alpha: float = RENYI_ALPHA) -> float | None:
    """Return the Rényi entropy of the token distribution over its maximum, log2 of the vocabulary size.

    Args:
        frequencies: int64[vocab_size], occurrences of each id on the text; zeros count towards the size.
        alpha: the order, at least 0; 1 is Shannon's.

    Returns:
        A share in [0, 1], higher is flatter; None if no token occurred or the vocabulary has one token.

    Source: Zouhar et al. 2023, "Tokenization and the Noiseless Channel", section 3. It divides by the
        full vocabulary, not by the types seen: the two rank tokenizers differently.

    >>> import numpy as np
    >>> renyi_efficiency(np.array([5, 5, 5, 5]))
    1.0
    >>> renyi_efficiency(np.array([7, 0]))
    0.0
    """
    import numpy as np

    total = int(frequencies.sum())
    if not total or len(frequencies) < 2:
        return None
    shares = frequencies[frequencies > 0] / total
    if abs(alpha - 1) < _NEARLY_ONE:
        entropy = -float(shares @ np.log2(shares))
    else:
        # The largest share is factored out of the sum, as powers of small shares would underflow at high orders.
        largest = float(shares.max())
        powers = float(((shares / largest) ** alpha).sum())
        entropy = (alpha * math.log2(largest) + math.log2(powers)) / (1 - alpha)
    return min(max(0.0, entropy) / math.log2(len(frequencies)), 1.0)


def utilization(frequencies: NDArray[np.int64], *, among: NDArray[np.bool_] | None = None) -> float | None:
    """Return the share of tokens that occurred, among all or the chosen ones; None if there are none.

    >>> import numpy as np
    >>> utilization(np.array([3, 0, 1, 0]))
    0.5
    >>> utilization(np.array([3, 0, 1, 0]), among=np.array([True, False, True, False]))
    1.0
    """
    import numpy as np

    chosen = frequencies if among is None else frequencies[among]
    return ratio(int(np.count_nonzero(chosen)), len(chosen))


def average_rank(frequencies: NDArray[np.int64]) -> float | None:
    """Return the mean frequency rank (from 1) over token occurrences.

    >>> import numpy as np
    >>> average_rank(np.array([1, 3]))
    1.25
    """
    import numpy as np

    sorted_frequencies = np.sort(frequencies)[::-1]
    ranks = np.arange(1, len(frequencies) + 1)
    return ratio(float(sorted_frequencies @ ranks), int(frequencies.sum()))


def frequency_deciles(frequencies: NDArray[np.int64]) -> tuple[int, ...] | None:
    """Return the minimum, the nine deciles and the maximum of the frequencies of tokens that occurred.

    Each is an observed frequency (the nearest rank below), without interpolation.

    >>> import numpy as np
    >>> frequency_deciles(np.arange(101))
    (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    """
    import numpy as np

    seen = np.sort(frequencies[frequencies > 0])
    if not len(seen):
        return None
    positions = (np.arange(11) * (len(seen) - 1)) // 10
    return tuple(seen[positions].tolist())


def length_histogram(
    frequencies: NDArray[np.int64], lengths: NDArray[np.int64], *, longest: int = 16
) -> tuple[int, ...]:
    """Return token occurrences by length in bytes, from 0; the last entry is for `longest` bytes and more.

    >>> import numpy as np
    >>> length_histogram(np.array([5, 2, 1]), np.array([1, 3, 99]), longest=4)
    (0, 5, 0, 2, 1)
    """
    import numpy as np

    counted = np.bincount(np.minimum(lengths, longest), weights=frequencies, minlength=longest + 1)
    return tuple(counted.astype(np.int64).tolist())
