"""Recorded ids of other projects, file by file; a file without its vocabulary is skipped with a message.

Conventions of the files' makers: the vectors of llama.cpp, the test plans and swift's gpt2 and
falcon have no added special tokens; those of BERT and T5 include the post-processor's, which
`with_template` adds; SentencePiece's T5 ends with </s>. Special tokens in texts are encoded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from support.places import SHARED

import tokbench
from tokbench import SpecialPolicy
from tokbench.backends.bpe.split_patterns import resolve_pattern, split
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

VECTORS = SHARED / "vectors"
FILES = sorted(path.relative_to(VECTORS).as_posix() for path in VECTORS.glob("*/*.jsonl"))

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Recorded:
    """How a vector file was recorded: its vocabularies, and the ids around those of the text."""

    vocabularies: tuple[str, ...]
    end: tuple[int, ...] = ()
    template: bool = False


GPT2 = ("gpt2/tokenizer.json", "gpt2/vocab.bpe", "gguf/ggml-vocab-gpt-2.gguf", "openai/r50k_base.tiktoken")
CL100K = ("openai/cl100k_base.tiktoken",)
BERT = ("bert-base-uncased/tokenizer.json",)
RECORDED = {
    "gpt_tokenizer_testplans/cl100k_base.jsonl": Recorded(CL100K),
    "gpt_tokenizer_testplans/r50k_base.jsonl": Recorded(GPT2),
    "llama_cpp/bert-bge.jsonl": Recorded(("baai-bge-small-en/tokenizer.json", "baai-bge-small-en/vocab.txt")),
    "llama_cpp/falcon.jsonl": Recorded(("falcon/tokenizer.json",)),
    "llama_cpp/gpt-2.jsonl": Recorded(GPT2),
    "llama_cpp/mpt.jsonl": Recorded(("gguf/ggml-vocab-mpt.gguf",)),
    "llama_cpp/roberta-bpe.jsonl": Recorded(("roberta-base/tokenizer.json",)),
    "swift_transformers/bert_uncased_encoded.jsonl": Recorded(BERT, template=True),
    "swift_transformers/edge_distilgpt2.jsonl": Recorded(GPT2),
    "swift_transformers/edge_google-bert__bert-base-uncased.jsonl": Recorded(BERT, template=True),
    "swift_transformers/edge_t5-base.jsonl": Recorded(("t5-base/spiece.model",), end=(1,)),
    "swift_transformers/edge_tiiuae__falcon-7b.jsonl": Recorded(("falcon",)),
    "swift_transformers/falcon_encoded.jsonl": Recorded(("falcon",)),
    "swift_transformers/gpt2_encoded_tokens.jsonl": Recorded(GPT2),
    "swift_transformers/t5_base_encoded.jsonl": Recorded(("t5-base/spiece.model",), end=(1,)),
    "transformers_js/Xenova__bert-base-uncased.jsonl": Recorded(BERT, template=True),
    "transformers_js/Xenova__clip-vit-base-patch16.jsonl": Recorded(("clip/tokenizer.json",), template=True),
    "transformers_js/Xenova__gpt-4.jsonl": Recorded(CL100K),
    "transformers_js/Xenova__gpt2.jsonl": Recorded(GPT2),
    "transformers_js/Xenova__t5-small.jsonl": Recorded(("t5-small",), template=True),
}


def records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def opened(path: Path) -> Any:
    return tokbench.load(path)


def ids_of(tokenizer: Tokenizer, record: dict[str, Any], recorded: Recorded) -> list[int]:
    if recorded.template:
        pair = record.get("text_pair")
        return tokenizer.with_template(record["text"], pair, special=SpecialPolicy.ENCODE)  # type: ignore[attr-defined]
    return [*tokenizer.encode(record["text"], special=SpecialPolicy.ENCODE), *recorded.end]


@pytest.mark.parametrize("file", FILES or ["none"])
def test_every_recorded_text_has_the_recorded_ids(shared: Path, file: str) -> None:
    recorded = RECORDED.get(file)
    if recorded is None:
        pytest.skip(f"no vocabulary is at hand for {file}")
    missing = [name for name in recorded.vocabularies if not (shared / "vocab" / name).exists()]
    if missing:
        pytest.skip(f"the vocabulary {missing[0]} is not at hand")
    for name in recorded.vocabularies:
        tokenizer = opened(shared / "vocab" / name)
        for record in records(shared / "vectors" / file):
            assert ids_of(tokenizer, record, recorded) == record["ids"], (name, record["text"])


def test_every_vector_file_is_listed(shared: Path) -> None:
    assert [file for file in FILES if file not in RECORDED] == []


def recorded_ends(record: dict[str, Any]) -> list[int] | None:
    """Return the ends of the recorded pieces in characters; None if they leave out a part of the text."""
    if "".join(record["pieces"]) != record["text"]:
        return None
    return list(accumulate(len(piece) for piece in record["pieces"]))


def test_custom_patterns_split_as_in_oniguruma_if_they_cover_the_text(shared: Path) -> None:
    r"""Compared are the records that tokbench's split can represent: all text is matched, and matches are pieces.

    Those are the records with the behaviour Isolated, or Removed and inverted, whose pieces join to the
    text; tokbench refuses patterns that leave gaps, and patterns in Oniguruma's own dialect do not compile.
    `\w` matches more characters in Oniguruma (such as ² and ①): with it, only ASCII is compared.
    """
    compared = refused = 0
    for record in records(shared / "vectors" / "split_regex_oracle.jsonl"):
        kept = (record["behavior"], record["invert"]) in {("Isolated", False), ("Removed", True)}
        expected = recorded_ends(record)
        if not kept or not record["text"] or expected is None:
            continue
        if r"\w" in record["pattern"] and not record["text"].isascii():
            continue
        try:
            pattern = resolve_pattern(record["pattern"])
            found = list(accumulate(map(len, split(pattern, record["text"]))))
        except ConfigError:
            refused += 1
            continue
        assert found == expected, (record["pattern"], record["text"])
        compared += 1
    assert compared > 250
    assert refused < compared
