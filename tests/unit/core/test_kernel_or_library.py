"""Which texts go to the kernel and which to the library, shown by their ids, which always differ here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokbench.core.base import BaseTokenizer
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedFirst, NormalizedTexts
from tokbench.core.kernel_spans import KernelSpans
from tokbench.core.token_arrays import offsets_of, segmented, tiled_spans
from tokbench.core.tokens import Encoded, EncodedSpans, Span, SpecialPolicy, Token, TokenKind
from tokbench.errors import ConfigError, SpecialTokenError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SPECIAL = 999
TEXTS = ["ab", "a!", "", "b!<s>", "ba", "!"]
"""The kernel runs the texts without an exclamation mark: its ids are 1, and those of the library 2."""


class Library(BaseTokenizer):
    """A library that gives a token for each character."""

    def __init__(self) -> None:
        super().__init__(
            TokenizerInfo(
                name="x",
                backend="x",
                vocab_size=1000,
                special_tokens={"<s>": SPECIAL},
                lossless=False,
                kernel="x",
            )
        )

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        for start, character in enumerate(text):
            yield Token(2, character.encode(), Span(start, start + 1), TokenKind.NORMAL)

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        del threads
        return segmented(self, texts)

    def ordinary_bytes(self, id: int) -> bytes | None:
        raise NotImplementedError

    def token_id(self, piece: bytes) -> int | None:
        raise NotImplementedError

    def save(self, directory: Any, *, overwrite: bool = False) -> None:
        raise NotImplementedError


class Ones:
    """A kernel that gives the id 1 for each character, and records its texts."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.given.append(text)
        return [1] * len(text)

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        assert threads > 0
        ids = [id for text in texts for id in self.encode(text)]
        return np.array(ids, np.uint32), offsets_of(list(map(len, texts)))

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        assert threads > 0
        self.given += texts
        return np.array(list(map(len, texts)), np.int64)


class Both(KernelOrLibrary, Library):
    """A tokenizer with a kernel and a library, whose kernel runs texts only if special tokens count as text."""

    tells_spans = False

    def __init__(self) -> None:
        super().__init__()
        self.kernel = Ones()

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        return KernelUse(covers, self.kernel) if special is SpecialPolicy.TEXT else None

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        return KernelSpans(covers, self._places, self._tokens) if self.tells_spans else None

    def _places(self, texts: Sequence[str], *, threads: int | None) -> EncodedSpans:
        encoded = Encoded(*self.kernel.encode_batch(list(texts), threads or 1))
        starts, stops = tiled_spans(encoded.offsets, np.ones(len(encoded.ids), np.int64))
        return EncodedSpans(encoded, starts, stops, np.zeros(len(starts), np.uint8))

    def _tokens(self, text: str) -> Iterator[Token]:
        for start, id in enumerate(self.kernel.encode(text)):
            yield Token(id, text[start].encode(), Span(start, start + 1), TokenKind.NORMAL)


class TellsSpans(Both):
    """The same with spans from the kernel."""

    tells_spans = True


class FindsSpecials(Both):
    """A kernel that runs texts under every policy, but gets none whose special tokens must raise an error."""

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        return KernelUse(covers, self.kernel)


class Needless(Both):
    """A tokenizer whose library must not be opened."""

    @property
    def _library(self) -> Any:
        raise AssertionError("opened for nothing")


class SeesAllAtOnce(Both):
    """A kernel that covers no text according to the check of one, but answers for whole batches."""

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        return KernelUse(
            lambda text: False, self.kernel, lambda texts, threads: threads > 0 and all(map(covers, texts))
        )


class LooksOnTheWay(SeesAllAtOnce):
    """A kernel that finds out while it encodes whether it covers all characters of all texts."""

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        use = super()._kernel_use(special)
        return use and use._replace(encode_covered=self._encode_covered)

    def _encode_covered(self, texts: list[str], threads: int) -> Any:
        assert threads > 0
        if not set("ab").issuperset("".join(texts)):
            return None
        return np.full(sum(map(len, texts)), 3, np.uint32), offsets_of(list(map(len, texts)))


class RefusesOnes(SeesAllAtOnce):
    """A kernel that covers all texts without an exclamation mark, but runs none that gets the id 1."""

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        use = super()._kernel_use(special)
        return use and use._replace(covers=covers, refused=1)


class RefusesNone(RefusesOnes):
    """The same with an id that no text gets."""

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        use = super()._kernel_use(special)
        return use and use._replace(refused=7)


class NormalizesFirst(Both):
    """A kernel that gets texts in capitals, unless they have a question mark, and covers none of over 2 characters."""

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        use = super()._kernel_use(special)
        return use and use._replace(
            normalized_first=NormalizedFirst(self._normalized, self.kernel.encode_batch)
        )

    @staticmethod
    def _normalized(text: str) -> str | None:
        normal = text.upper()
        return normal if covers(text) and "?" not in text and len(normal) < 3 else None


def covers(text: str) -> bool:
    return "!" not in text.encode().decode()


def test_covered_texts_are_encoded_by_the_kernel() -> None:
    tokenizer = Both()
    expected = [[1, 1], [2, 2], [], [2] * 5, [1, 1], [2]]
    assert [tokenizer.encode(text) for text in TEXTS] == expected
    assert [tokenizer.encode_ordinary(text) for text in TEXTS] == expected
    batch = tokenizer.encode_batch(TEXTS, threads=2)
    assert [batch[place].tolist() for place in range(len(TEXTS))] == expected
    assert tokenizer.count_batch(TEXTS).tolist() == [2, 2, 0, 5, 2, 1]
    assert tokenizer.count_batch(["abc", ""]).tolist() == [3, 0]
    assert all(map(covers, tokenizer.kernel.given))


def test_coverage_of_a_batch_is_checked_at_once() -> None:
    tokenizer = SeesAllAtOnce()
    assert tokenizer.encode_batch(["ab", ""]).ids.tolist() == [1, 1]
    assert tokenizer.count_batch(["ab", ""]).tolist() == [2, 0]
    assert tokenizer.encode_batch(["ab", "!"]).ids.tolist() == [2, 2, 2]
    assert tokenizer.count_batch(["ab", "!"]).tolist() == [2, 1]
    assert tokenizer.encode_batch([]).ids.tolist() == []


def test_texts_are_checked_during_encoding_and_again_without_marks() -> None:
    tokenizer = LooksOnTheWay()
    assert tokenizer.encode_batch(["ab", ""]).ids.tolist() == [3, 3]
    assert tokenizer.encode_batch(["ab", "c"]).ids.tolist() == [1, 1, 1]
    assert tokenizer.encode_batch(["ab", "!"]).ids.tolist() == [2, 2, 2]
    assert tokenizer.encode_batch([]).ids.tolist() == []
    with pytest.raises(TextError):
        tokenizer.encode_batch(["ab", "c\ud800"])


def test_texts_are_normalized_once_where_that_tells_whether_they_are_covered() -> None:
    tokenizer = NormalizesFirst()
    batch = tokenizer.encode_batch(["ab", "aß", "!", "?", ""])
    assert tokenizer.kernel.given == ["AB", "", "aß", "?"]
    assert [batch[number].tolist() for number in range(5)] == [[1, 1], [1, 1], [2], [1], []]
    assert tokenizer.count_batch(["ß", "a!"]).tolist() == [2, 2]
    assert tokenizer.kernel.given[4:] == ["SS"]
    assert tokenizer.encode_batch(["!", "a!"]).ids.tolist() == [2, 2, 2]
    assert tokenizer.encode_batch(["a", "b"]).ids.tolist() == [1, 1]


def test_texts_with_a_refused_id_go_to_the_library() -> None:
    tokenizer = RefusesOnes()
    assert [tokenizer.encode(text) for text in ("ab", "", "!")] == [[2, 2], [], [2]]
    assert tokenizer.encode_ordinary("ab") == [2, 2]
    assert tokenizer.encode_batch(["ab", ""]).ids.tolist() == [2, 2]
    assert tokenizer.encode_batch(["ab", "!"]).ids.tolist() == [2, 2, 2]
    assert tokenizer.count_batch(["ab", "c"]).tolist() == [2, 1]
    with pytest.raises(TextError):
        tokenizer.encode("\ud800")


def test_texts_without_the_refused_id_are_encoded_once() -> None:
    tokenizer = RefusesNone()
    assert tokenizer.encode("ab") == [1, 1]
    assert tokenizer.encode_ordinary("c") == [1]
    assert tokenizer.encode_batch(["d", "e"]).ids.tolist() == [1, 1]
    assert tokenizer.count_batch(["f", "gh"]).tolist() == [1, 2]
    assert tokenizer.kernel.given == ["ab", "c", "d", "e", "f", "gh"]


def test_library_is_not_opened_for_covered_texts() -> None:
    tokenizer = Needless()
    tokenizer.encode("a")
    tokenizer.encode_batch(["a", "b"])
    tokenizer.count_batch(["a"])
    with pytest.raises(AssertionError, match="for nothing"):
        tokenizer.encode_batch(["a", "!"])


def test_parts_between_special_tokens_are_encoded_by_the_kernel() -> None:
    tokenizer = Both()
    assert tokenizer.encode("ab<s>!", special=SpecialPolicy.ENCODE) == [1, 1, SPECIAL, 2]
    batch = tokenizer.encode_batch(["ab<s>!", "a"], special=SpecialPolicy.ENCODE)
    assert batch.ids.tolist() == [1, 1, SPECIAL, 2, 1]
    assert tokenizer.count_batch(["ab<s>!"], special=SpecialPolicy.ENCODE).tolist() == [4]
    for call in (tokenizer.encode_batch, tokenizer.count_batch):
        with pytest.raises(SpecialTokenError):
            call(["a", "<s>"], special=SpecialPolicy.RAISE)


def test_kernel_may_find_special_tokens_itself() -> None:
    tokenizer = FindsSpecials()
    assert tokenizer.encode("<s>", special=SpecialPolicy.ENCODE) == [1, 1, 1]
    assert tokenizer.encode("<s>!", special=SpecialPolicy.ENCODE) == [SPECIAL, 2]
    batch = tokenizer.encode_batch(["<s>", "<s>!"], special=SpecialPolicy.ENCODE)
    assert batch.ids.tolist() == [1, 1, 1, SPECIAL, 2]


def test_spans_come_from_the_library_unless_the_kernel_has_them() -> None:
    for tokenizer, first in ((Both(), 2), (TellsSpans(), 1)):
        spans = tokenizer.encode_spans(TEXTS, threads=1)
        assert spans.encoded.ids.tolist() == [first, first, 2, 2, 2, 2, 2, 2, 2, first, first, 2]
        assert spans.starts.tolist() == [0, 1, 0, 1, 0, 1, 2, 3, 4, 0, 1, 0]
        assert [[token.id for token in tokenizer.segment(text).tokens] for text in ("ab", "!")] == [
            [first] * 2,
            [2],
        ]


def test_special_tokens_have_their_own_spans() -> None:
    tokens = TellsSpans().segment("a<s>!", special=SpecialPolicy.ENCODE).tokens
    assert [(token.id, *token.span, token.kind.value) for token in tokens] == [
        (1, 0, 1, "normal"),
        (SPECIAL, 1, 4, "special"),
        (2, 4, 5, "normal"),
    ]


@pytest.mark.parametrize(
    "tokenizer", [Both(), TellsSpans(), FindsSpecials()], ids=lambda one: type(one).__name__
)
def test_non_text_arguments_are_refused(tokenizer: Both) -> None:
    calls: list[Any] = [tokenizer.encode, tokenizer.encode_ordinary, tokenizer.segment]
    calls += [
        lambda text, call=call: call(["a", text]) for call in (tokenizer.encode_batch, tokenizer.count_batch)
    ]
    for call in calls:
        for text in (3, None, b"a", "a\ud800"):
            with pytest.raises(TextError):
                call(text)
    for call, texts in (
        (tokenizer.encode, "a"),
        (tokenizer.encode_batch, ["a"]),
        (tokenizer.count_batch, ["a"]),
    ):
        with pytest.raises(ConfigError, match="SpecialPolicy"):
            call(texts, special="text")


def test_encoder_receives_the_normalized_texts() -> None:
    kernel = Ones()
    encoder = NormalizedTexts(kernel, str.upper)
    assert encoder.encode("aß") == [1, 1, 1]
    assert encoder.encode_batch(["ß", "a"], 1)[1].tolist() == [0, 2, 3]
    assert encoder.count_batch(["ß"], 1).tolist() == [2]
    assert kernel.given == ["ASS", "SS", "A", "SS"]
