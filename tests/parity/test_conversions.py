"""A converted tokenizer gives the same ids in its target library, opened as that library's users open it.

Each family is converted to each format that can represent it; the result is opened without tokbench's help, and
compared to the source on the bundled texts and on random text. The proof inside `convert` has checked the same
with other code: these tests check the proof.
"""

from __future__ import annotations

import json
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.descriptions import described, trained
from support.readers import READERS
from support.sentencepiece_models import variant
from support.texts import bundled_texts

import tokbench
import tokbench.workbench.convert as conversion
from tokbench.convert.proof import ProofError, prove
from tokbench.convert.proof_texts import generated_texts
from tokbench.errors import ConfigError, ConversionError
from tokbench.formats.llama2c import EXCLUDED
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

    Encode = Callable[[str], Sequence[int]]

CAN_CARRY = {
    "bpe": ("tiktoken", "tokenizers", "transformers", "tokbin", "token_bytes"),
    "bpe qwen2": ("tokenizers", "transformers", "tokbin", "token_bytes"),
    "bpe, own pattern": ("tiktoken", "tokenizers", "transformers", "tokbin"),
    "sentencepiece": ("tokenizers", "transformers", "sentencepiece", "tokbin", "llama2c", "token_bytes"),
    "sentencepiece without prefix": ("tokenizers", "sentencepiece", "tokbin"),
    "sentencepiece with symbols": ("tokenizers", "transformers", "sentencepiece"),
    "unigram": ("tokenizers", "transformers", "sentencepiece", "tokbin", "token_bytes"),
    "wordpiece": ("tokenizers", "transformers", "vocab.txt", "tokbin", "token_bytes"),
    "llama as json": ("tokenizers", "transformers", "sentencepiece", "llama2c", "tokbin"),
    "word-level": ("tokbin",),
    "byte": ("tiktoken", "tokenizers", "transformers", "tokbin", "token_bytes"),
    "char": ("token_bytes",),
    "word": ("token_bytes",),
}
PAIRS = [(name, target) for name, targets in CAN_CARRY.items() for target in targets]
QUICK = {
    ("bpe", "tiktoken"),
    ("bpe", "tokenizers"),
    ("sentencepiece", "sentencepiece"),
    ("unigram", "tokbin"),
    ("wordpiece", "vocab.txt"),
}
"""One family for each format; the others are slow, and their proofs use a tenth of the texts."""
SOURCES: dict[str, Callable[[], Any]] = {
    "bpe": trained,
    "bpe qwen2": lambda: trained("qwen2"),
    "bpe, own pattern": lambda: trained(r"\w+|\W"),
    "sentencepiece": lambda: variant("bpe"),
    "sentencepiece without prefix": lambda: variant("bpe without prefix"),
    "sentencepiece with symbols": lambda: variant("bpe with symbols"),
    "unigram": lambda: variant("unigram as t5"),
    "llama as json": lambda: HuggingFaceTokenizer(huggingface.byte_fallback(), name="llama", backend="bpe"),
    "wordpiece": lambda: HuggingFaceTokenizer(huggingface.wordpiece(), name="bert", backend="wordpiece"),
    "word-level": lambda: HuggingFaceTokenizer(huggingface.word_level(), name="words", backend="word"),
}
"""A small tokenizer of each family, by name."""


@cache
def source_of(name: str) -> Any:
    """Return a tokenizer of `SOURCES`, or a baseline of that name."""
    if name in SOURCES:
        return SOURCES[name]()
    return tokbench.train([bundled_texts()["parallel/en.txt"]], backend=name)


def pairs(*, of: Container[str]) -> list[Any]:
    """Return the pairs of family and format, with slow ones marked."""
    return [
        pytest.param(*pair, marks=[] if pair in QUICK else [pytest.mark.slow])
        for pair in PAIRS
        if pair[1] in of
    ]


def few_texts(target: str) -> list[str]:
    """Return the hard cases and the beginnings of the other texts; short ones for llama2c, which is quadratic."""
    found = [text if "edge/" in name else text[:2000] for name, text in bundled_texts().items()]
    if target != "llama2c":
        return found
    return [text[:300].translate(dict.fromkeys(map(ord, EXCLUDED))) for text in found]


@cache
def some_generated_texts() -> tuple[str, ...]:
    """Return a tenth of the texts that a proof generates."""
    return tuple(islice(generated_texts([], seed=0), 0, None, 10))


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Tokenizer, Path]]:
    """Return a function that converts a source once, and returns the source and the path of the result."""
    folder = tmp_path_factory.mktemp("converted")

    @cache
    def converted(name: str, target: str) -> tuple[Tokenizer, Path]:
        if target == "transformers":
            pytest.importorskip("transformers")
        out = folder / f"{name} as {target}"
        with pytest.MonkeyPatch.context() as patch:
            if (name, target) not in QUICK:
                patch.setattr(conversion, "prove", partial(prove, texts=some_generated_texts()))
            assert convert(source_of(name), to=target, out=out).proof.agrees
        return source_of(name), out

    return converted


@pytest.mark.parametrize(("name", "target"), pairs(of=READERS))
def test_target_library_gives_the_same_ids(converted: Any, name: str, target: str) -> None:
    source, out = converted(name, target)
    encode = READERS[target](out, source)
    for text in few_texts(target):
        assert list(encode(text)) == source.encode(text)


@pytest.mark.parametrize(
    ("name", "target"),
    [("bpe", "tiktoken"), pytest.param("sentencepiece", "tokenizers", marks=pytest.mark.slow)],
)
@given(data=st.data())
def test_any_text_has_the_same_ids(converted: Any, name: str, target: str, data: st.DataObject) -> None:
    source, out = converted(name, target)
    encode = READERS[target](out, source)
    # Proofs exclude characters that are new in Unicode; these texts have none.
    text = data.draw(st.sampled_from(list(generated_texts([], seed=99)))) + data.draw(st.text("ab '\n1é"))
    assert list(encode(text)) == source.encode(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, target in PAIRS if target == "token_bytes"])
def test_token_bytes_add_up_to_the_text(converted: Any, name: str) -> None:
    source, out = converted(name, "token_bytes")
    lengths = np.load(out)
    assert lengths.shape == (source.info.vocab_size,)
    if source.info.lossless:
        for text in few_texts("token_bytes"):
            assert int(lengths[source.encode(text)].sum()) == len(text.encode())


# --- roles, templates and rounding ------------------------------------------------------------


TEMPLATE = "{% for message in messages %}{{ message['content'] }}<|end|>{% endfor %}"


@pytest.mark.slow
@pytest.mark.usefixtures("short_proofs")
def test_transformers_has_the_given_roles_and_chat_template(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    convert(
        trained(),
        to="transformers",
        out=tmp_path / "folder",
        roles={"eos": "<|end|>", "pad": "<|pad|>"},
        chat_template=TEMPLATE,
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    special = trained().info.special_tokens
    assert (tokenizer.eos_token, tokenizer.eos_token_id) == ("<|end|>", special["<|end|>"])
    assert (tokenizer.pad_token, tokenizer.pad_token_id) == ("<|pad|>", special["<|pad|>"])
    assert tokenizer.bos_token is None
    assert tokenizer.chat_template == TEMPLATE
    assert tokenizer.decode(tokenizer("a  b , c")["input_ids"]) == "a  b , c"
    for text in few_texts("transformers"):
        assert tokenizer(text, split_special_tokens=True, verbose=False)["input_ids"] == trained().encode(
            text
        )
    pytest.importorskip("jinja2")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False) == "hi<|end|>"


@pytest.mark.slow
def test_transformers_has_the_roles_of_the_model(converted: Any) -> None:
    transformers = pytest.importorskip("transformers")
    _, out = converted("sentencepiece", "transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(out))
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2)
    _, out = converted("wordpiece", "transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(out))
    assert (tokenizer.cls_token, tokenizer.sep_token, tokenizer.unk_token) == ("[CLS]", "[SEP]", "[UNK]")


def test_special_tokens_match_in_the_converted_file(converted: Any) -> None:
    import tokenizers

    source, out = converted("bpe", "tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(out))
    text = "a<|end|> b<|pad|>"
    ids = source.encode(text, special=tokbench.SpecialPolicy.ENCODE)
    assert tokenizer.encode(text).ids == ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    _, out = converted("bpe", "tokbin")
    assert tokbench.load(out).encode(text, special=tokbench.SpecialPolicy.ENCODE) == ids


def test_tokbin_converts_like_its_source(converted: Any, tmp_path: Path) -> None:
    _, again = converted("bpe", "tokbin")
    convert(tokbench.load(again), to="tiktoken", out=tmp_path / "ranks.tiktoken")
    _, direct = converted("bpe", "tiktoken")
    assert (tmp_path / "ranks.tiktoken").read_bytes() == direct.read_bytes()
    assert tokbench.load(again).description() == described()  # type: ignore[attr-defined]


@cache
def unrounded() -> Any:
    """Train a Unigram without rounded scores, like other trainers, on which the libraries occasionally disagree."""
    texts = [bundled_texts()[f"parallel/{language}.txt"] for language in ("en", "de", "fr")]
    return tokbench.train(texts, backend="unigram", vocab_size=3000, round_scores=False)


@pytest.mark.parametrize("target", ["tokenizers", "transformers"])
def test_unigram_with_inexact_scores_is_refused(tmp_path: Path, target: str) -> None:
    if target == "transformers":
        pytest.importorskip("transformers")
    with pytest.raises(ConversionError, match="single precision, tokenizers in double") as failed:
        convert(unrounded(), to=target, out=tmp_path / "never")
    assert not isinstance(failed.value, ProofError)
    assert "--accept-rounding" in str(failed.value.hint)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["tokenizers", "transformers"])
def test_accepted_rounding_is_reported(tmp_path: Path, target: str) -> None:
    if target == "transformers":
        pytest.importorskip("transformers")
    out = tmp_path / "out"
    result = convert(unrounded(), to=target, out=out, accept_rounding=True)
    assert result.rounding is not None
    assert "no multiples of a power of two" in result.rounding
    assert result.proof.tolerated > 0
    document = json.loads(json.dumps(result.to_json()))
    assert document["rounding"] == result.rounding
    assert document["proof"]["tolerated"] == result.proof.tolerated
    file = out / "tokenizer.json" if target == "transformers" else out
    assert json.loads(file.read_bytes())["normalizer"]["rounding"] == result.rounding
    encode = READERS[target](out, unrounded())
    different = [text for text in few_texts(target) if list(encode(text)) != unrounded().encode(text)]
    assert len(different) < 3


def test_difference_not_caused_by_rounding_fails_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.convert.targets import tokenizers as target

    made = target.tokenizer_json_of

    def wrong(source: Any, **options: Any) -> bytes:
        document = json.loads(made(source, **options))
        vocab = document["model"]["vocab"]
        place = [text for text, _ in vocab].index("▁the")
        vocab[place][1] = min(score for _, score in vocab)
        return json.dumps(document).encode()

    monkeypatch.setattr(target, "tokenizer_json_of", wrong)
    with pytest.raises(ProofError):
        convert(unrounded(), to="tokenizers", out=tmp_path / "never", accept_rounding=True)


@pytest.mark.parametrize(
    ("name", "target", "found"),
    [
        ("unigram", "tokbin", "a conversion to tokbin does not round scores"),
        ("unigram", "sentencepiece", "keeps its library, which adds up its scores as before"),
        ("sentencepiece", "tokenizers", "is not a Unigram model: no scores are rounded"),
        ("bpe", "transformers", "is not a Unigram model: no scores are rounded"),
    ],
)
def test_accept_rounding_is_refused_where_nothing_is_rounded(
    tmp_path: Path, name: str, target: str, found: str
) -> None:
    if target == "transformers":
        pytest.importorskip("transformers")
    with pytest.raises(ConfigError, match=found):
        convert(source_of(name), to=target, out=tmp_path / "never", accept_rounding=True)


@pytest.mark.slow
@pytest.mark.usefixtures("short_proofs")
def test_exact_scores_are_reported_instead_of_rounding(converted: Any, tmp_path: Path) -> None:
    result = convert(source_of("unigram"), to="tokenizers", out=tmp_path / "out", accept_rounding=True)
    assert result.rounding is None  # no rounding had to be accepted
    assert any("multiples of 1/32" in limit for limit in result.proof.limits)


# --- real vocabularies ------------------------------------------------------------------------


REAL = [("mistral", "sentencepiece")]
"""Conversions whose proofs use all texts; those in `SLOW` use a tenth of them."""
SLOW = [
    ("openai/r50k_base.tiktoken", "tiktoken"),
    ("openai/cl100k_base.tiktoken", "tokenizers"),
    ("openai/cl100k_base.tiktoken", "tokbin"),
    ("mistral", "llama2c"),
    ("bert-base-uncased", "vocab.txt"),
    ("gpt2/tokenizer.json", "tiktoken"),
    ("mistral", "tokenizers"),
    ("t5-small", "tokbin"),
    ("roberta-base/tokenizer.json", "transformers"),
    ("clip/tokenizer.json", "transformers"),
]


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "target"), [*REAL, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SLOW)]
)
def test_real_vocabularies_give_the_same_ids(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, target: str
) -> None:
    source: Any = tokbench.load(shared / "vocab" / name)
    out = tmp_path / "out"
    if (name, target) not in REAL:
        monkeypatch.setattr(conversion, "prove", partial(prove, texts=some_generated_texts()))
    assert convert(source, to=target, out=out).proof.agrees
    encode = READERS[target](out, source)
    for text in few_texts(target):
        assert list(encode(text)) == source.encode(text)


@pytest.mark.real
@pytest.mark.slow
def test_real_unigram_converts_with_accepted_rounding(shared: Path, tmp_path: Path) -> None:
    source: Any = tokbench.load(shared / "vocab" / "t5-small")
    with pytest.raises(ConversionError, match=r"such as -2\.01229"):
        convert(source, to="sentencepiece", out=tmp_path / "never.model")
    result = convert(source, to="sentencepiece", out=tmp_path / "t5.model", accept_rounding=True)
    assert 0 < result.proof.tolerated < 50
    assert result.rounding is not None
    assert result.rounding.encode() in (tmp_path / "t5.model").read_bytes()


@pytest.mark.real
def test_real_unigram_with_different_ids_is_refused(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(ConversionError):
        convert(tokbench.load(shared / "vocab" / "t5-base"), to="tokenizers", out=tmp_path / "never.json")
