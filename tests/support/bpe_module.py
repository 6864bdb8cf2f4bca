"""Calls of the compiled byte-level BPE module, with defaults for the arguments that do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np

AB = np.array([[97, 98]], dtype=np.uint32)


def new_counter(module: Any, **options: Any) -> Any:
    return module.PretokenCounter(
        **{"pattern": "gpt4", "special_tokens": [], "threads": 2, "seed": 0} | options
    )


def finished_counter(module: Any, text: str) -> Any:
    counter = new_counter(module)
    counter.add_texts([text])
    counter.finish()
    return counter


def train(module: Any, counter: Any, **options: Any) -> Any:
    defaults = {"num_merges": 5, "min_frequency": 1, "max_token_length": 0, "seed": 0, "progress": None}
    return module.train(counter, **defaults | options)


def new_encoder(module: Any) -> Any:
    return module.Encoder(AB, "gpt4")


def new_decoder(module: Any) -> Any:
    return module.Decoder([bytes([value]) for value in range(256)] + [b"ab"])


def from_parts(module: Any, tokens: list[bytes], merges: object) -> Any:
    return module.Encoder.from_parts(tokens, merges, whole_tokens_first=False, pattern=None)
