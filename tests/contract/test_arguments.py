"""The contract of wrong arguments: every tokenizer raises tokbench's errors for anything that is not text or ids."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.descriptions import ranked, trained
from support.huggingface import byte_level
from support.sentencepiece_models import variant
from support.toys import Toy

import tokbench
from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokbin import make
from tokbench.core.capabilities import SupportsCounts, SupportsTemplate
from tokbench.core.token_arrays import encode_spans
from tokbench.errors import ConfigError, DecodeError, StoreError, TextError, TokbenchError, UnknownIdError
from tokbench.formats.tokbin.reading import TokbinFile
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.sentencepiece.renumbered import PieceTable, RenumberedModel
from tokbench.libraries.tiktoken import TiktokenTokenizer
from tokbench.opening.native_with_fallback import NativeBpeWithFallback
from tokbench.opening.tokbin import TokbinTokenizer
from tokbench.opening.unicode_agreement import UnicodeAgreement, tiktoken_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.core.interfaces import Tokenizer


def tokbin() -> Tokenizer:
    source = trained()
    data = make(Source(tokenizer=source, description=source.description())).files[""]
    return TokbinTokenizer(TokbinFile(data, path="mine.tokbin"))


def tiktoken() -> Any:
    ranks = [(bytes([byte]), byte) for byte in range(256)]
    return TiktokenTokenizer(ranks, name="ranks", pattern=r"\w+|\W", special_tokens={"<e>": 256})


def exact() -> Tokenizer:
    from tokbench.backends.bpe.kernel import current_kernel

    kernel = current_kernel()
    agreement = UnicodeAgreement(tiktoken_members, kernel=kernel.name, nfc=False)
    return NativeBpeWithFallback.build(
        ranked(), name="exact", kernel=kernel, agreement=agreement, library=tiktoken
    )


def renumbered() -> Tokenizer:
    model: Any = variant("unigram")
    ids = {piece.text: id for id, piece in enumerate(reversed(model.model.pieces))}
    return RenumberedModel(model, PieceTable(ids, unknown="<unk>", special_tokens={"</s>": ids["</s>"]}))


ADAPTERS: dict[str, Callable[[], Tokenizer]] = {
    "tokbin": tokbin,
    "tiktoken": tiktoken,
    "exact": exact,
    "huggingface": lambda: HuggingFaceTokenizer(byte_level(), name="gpt2", backend="bpe"),
    "renumbered": renumbered,
    "of another package": lambda: Toy("a", "b", otherwise="bytes"),
}


@pytest.fixture(scope="module", params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> Tokenizer:
    """Return a tokenizer that no backend trains."""
    return ADAPTERS[request.param]()


def test_every_backend_refuses_arguments_that_are_not_text(tokenizer: Tokenizer) -> None:
    refuse_values_that_are_not_text(tokenizer)


def test_every_backend_refuses_arguments_that_are_not_ids(tokenizer: Tokenizer) -> None:
    refuse_values_that_are_not_ids(tokenizer)


def test_every_adapter_refuses_arguments_that_are_not_text(adapter: Tokenizer) -> None:
    refuse_values_that_are_not_text(adapter)


def test_every_adapter_refuses_arguments_that_are_not_ids(adapter: Tokenizer) -> None:
    refuse_values_that_are_not_ids(adapter)


def refuse_values_that_are_not_text(tokenizer: Any) -> None:
    for given in (3, None, b"text", ["text"], 1.5):
        for call in (tokenizer.encode, tokenizer.segment, tokenizer):
            assert_refused(TextError, "a text must be a str, not", call, given)
        if isinstance(tokenizer, SupportsTemplate):
            assert_refused(TextError, "a text must be a str", tokenizer.with_template, given)
            assert_refused(TextError, "a text must be a str", tokenizer.model_input, "text", given or 3)
    batches = [tokenizer.encode_batch, lambda texts: encode_spans(tokenizer, texts)]
    if isinstance(tokenizer, SupportsCounts):
        batches.append(tokenizer.count_batch)
    for call in batches:
        for given in ("text", b"text", 3, None):
            assert_refused(TextError, "a list of texts is needed, not", call, given)
        for given in ([3], ["text", None], ["text" * 20_000, b"text"], ("a", ["b"])):
            assert_refused(TextError, "a text must be a str, not", call, given)
    expected = tokenizer.encode_batch(["text", "a"])
    batch = tokenizer.encode_batch(text for text in ["text", "a"])
    assert batch.ids.tolist() == expected.ids.tolist()
    assert batch.offsets.tolist() == expected.offsets.tolist()
    assert len(expected) == 2
    for policy in ("text", "encode", None, True):
        for call, text in (
            (tokenizer.encode, "text"),
            (tokenizer.segment, "a"),
            (tokenizer.encode_batch, ["a"]),
        ):
            with pytest.raises(ConfigError, match="SpecialPolicy"):
                call(text, special=policy)
    for threads in (0, -1, 10**11, "2"):
        with pytest.raises(ConfigError, match="threads"):
            tokenizer.encode_batch(["a"], threads=threads)


def refuse_values_that_are_not_ids(tokenizer: Any) -> None:
    for call in (tokenizer.decode, tokenizer.decode_bytes):
        for given in ("72", "", b"72", None, 72, 1.5, {72: 1}):
            assert_refused(DecodeError, "a list of ids is needed, not", call, given)
        for given in (["a"], [None], [1.5], [72.0], [[72]], (72, "a"), [72] * 2000 + ["a"], [np.float64(72)]):
            assert_refused(DecodeError, "ids must be whole numbers, but the id at position", call, given)
        assert_refused(DecodeError, "ids must be whole numbers", call, np.array([1.5]))
        assert_refused(DecodeError, "ids must be whole numbers", call, array("d", [72.5]))
        assert_refused(DecodeError, "not an array of bool", call, np.array([True, False]))
        assert_refused(
            DecodeError, "a list of ids is needed, not an array of 2 dim", call, np.array([[72], [72]])
        )
        assert_refused(DecodeError, "a list of ids is needed, not int64", call, np.int64(72))
        assert_refused(
            DecodeError, "a list of ids is needed, not an array of 0 dimensions", call, np.array(72)
        )
        assert call(iter([72])) == call([72]) == call((72,)) == call(np.array([72]))
        assert call([]) == call(np.array([]))
    for integer in (np.uint8(72), np.int64(72), np.array(72)):
        assert tokenizer.token_bytes(integer) == tokenizer.token_bytes(72)
    for given in ("a", None, 1.5, [72]):
        assert_refused(DecodeError, "an id must be a whole number, not", tokenizer.token_bytes, given)
        if hasattr(tokenizer, "score"):
            assert_refused(DecodeError, "an id must be a whole number", tokenizer.score, given)
    for given in ("the", None, 3):
        assert_refused(TextError, "a piece must be bytes, not", tokenizer.token_id, given)
    assert_refused(StoreError, "a folder must be given as a path, not int", tokenizer.save, 3)
    with pytest.raises(UnknownIdError):
        tokenizer.decode([10**9])
    for errors in ("never heard of", "xmlcharrefreplace", None, 3):
        with pytest.raises(ConfigError, match="errors"):
            tokenizer.decode([72], errors=errors)


def assert_refused(error: type[TokbenchError], message: str, call: Callable[..., Any], *given: Any) -> None:
    with pytest.raises(error) as caught:
        call(*given)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_every_backend_refuses_what_is_no_policy(tokenizer: Tokenizer) -> None:
    refuse_what_is_no_policy(tokenizer)


def test_every_adapter_refuses_what_is_no_policy(adapter: Tokenizer) -> None:
    refuse_what_is_no_policy(adapter)


@pytest.mark.parametrize("options", [{"backend": "bpe", "vocab_size": 260}, {"backend": "char"}], ids=str)
def test_what_is_no_policy_is_refused_without_special_tokens(options: dict[str, Any]) -> None:
    tokenizer = tokbench.train(["some text, some more text"], **options)
    assert not tokenizer.info.special_tokens
    refuse_what_is_no_policy(tokenizer)


def refuse_what_is_no_policy(tokenizer: Any) -> None:
    for call, given in (
        (tokenizer.encode, "text"),
        (tokenizer.segment, "text"),
        (tokenizer.encode_batch, ["text"]),
    ):
        with pytest.raises(ConfigError, match="special is 'encode', where a SpecialPolicy is needed"):
            call(given, special="encode")


def test_unknown_errors_option_is_refused(tokenizer: Tokenizer) -> None:
    half = tokenizer.token_id(b"\xc3")
    if half is not None:
        with pytest.raises(ConfigError, match="'bogus'"):
            tokenizer.decode([half], errors="bogus")


def test_wrapped_method_keeps_its_name_and_docstring() -> None:
    assert "into arrays" in (Toy.encode_batch.__doc__ or "")
    assert Toy.encode_batch.__name__ == "encode_batch"
