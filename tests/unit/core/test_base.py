"""The base class of tokenizers: it asks a backend only for the bytes of ordinary tokens."""

from __future__ import annotations

from support.toys import UNKNOWN, Toy


class Strict(Toy):
    def ordinary_bytes(self, id: int) -> bytes | None:
        assert id not in self.info.special_tokens.values()
        return super().ordinary_bytes(id)


def test_decoding_never_asks_for_the_bytes_of_special_tokens() -> None:
    tokenizer = Strict("a", "b")
    for times in (1, 2000):
        assert tokenizer.decode([0, 1, 2] * times) == f"{UNKNOWN}ab" * times
