"""The types that users get: what the guides call passes a strict type checker in a project of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tokbench

USE = """
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tokbench
from tokbench import SpecialPolicy
from tokbench.core.capabilities import (
    SupportsCounts, SupportsExplanation, SupportsNBest, SupportsPreTokens, SupportsSampling,
    SupportsScores, SupportsSpans, SupportsTemplate,
)

tok = tokbench.train(["some", "texts"] * 10, vocab_size=300, special_tokens=["<|pad|>"])
same = tokbench.load("tokenizers/mine", roles={"pad": "<|pad|>"})
ids: list[int] = tok.encode("text")
text: str = tok.decode(ids)
part: str = tok.truncate("a text", 2)
chunks = [chunk.text for chunk in tok.chunk("a text", max_tokens=3)]
batch = same.batch(["a", "b"], max_length=8)
size: int = tok.vocab_size
pad: int = same.role_ids["pad"]
print(tok.viz("text"), batch.ids, text, part, chunks, size, pad, tok("text"))


def count(tokenizer: tokbench.Tokenizer) -> int:
    return len(tokenizer.encode("text"))


def texts() -> Iterator[str]:
    yield "text"


def powers(tokenizer: tokbench.Tokenizer) -> Iterator[object]:
    if isinstance(tokenizer, SupportsCounts):
        yield tokenizer.count_batch(["text"]).sum()
    if isinstance(tokenizer, SupportsSpans):
        yield tokenizer.encode_spans(["text"]).starts
    if isinstance(tokenizer, SupportsSampling):
        yield tokenizer.sample("text", seed=1)[0] + 1
    if isinstance(tokenizer, SupportsNBest):
        yield tokenizer.n_best("text", n=2)[0].score + 1
    if isinstance(tokenizer, SupportsScores):
        yield (tokenizer.score(3) or 0.0) + 1
    if isinstance(tokenizer, SupportsPreTokens):
        yield tokenizer.pretokens("text")[0] + "text"
    if isinstance(tokenizer, SupportsTemplate):
        yield tokenizer.with_template("a", "b")[0] + 1, tokenizer.model_input("text").type_ids
    if isinstance(tokenizer, SupportsExplanation):
        yield tokenizer.derivation("text").steps


encoded = tok.encode_batch(texts(), special=SpecialPolicy.ENCODE, threads=2)
rows: list[list[int]] = [row.tolist() for row in encoded]
parts = [tok.decode(encoded[0]), tok.decode(np.array([1])), tok.decode_bytes(range(3)), tok.token_bytes(np.int64(3))]
padded = same.pad(encoded, to=8), same.pad([np.array([1]), (2, 3)], side="left"), same.batch(texts(), texts())
decoder = tokbench.StreamingDecoder(tok, stop="eos")
fed: str = decoder.feed(7) + decoder.feed(np.int64(7)) + decoder.feed(encoded[0]) + decoder.finish()
others: list[int] = tok.to_tiktoken().encode("text")
chat = tok.render([{"role": "user", "content": "Hi"}], template=tokbench.ChatTemplate("chatml"), prompt=True)
learned: list[int] = chat.ids[chat.loss_mask == 1].tolist()
corpus = tokbench.open_corpus(Path("texts"), "more", documents="lines")
sources = [document.source for document in corpus.documents()]
shards = tokbench.write_shards(tok, corpus, "shards", eos=True)
tokens: int = tokbench.open_shards("shards").tokens + sum(len(array) for array in shards.arrays())
page: str = tokbench.as_html(tok.viz("text", steps=True)) + tokbench.as_html(tokbench.sweep(corpus, sizes=[300]))
print(powers(tok), parts, padded, others, learned, sources, tokens, page, tokbench.report(corpus, tokenizer=tok))
print(count(tok), tokbench.compare(tokbench.bundled_corpus(), tokenizers=["default"]).summary)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "is_right"), [("", True), ("tok.vizualize('text')", False), ("size = tok.viz('')", False)]
)
def test_calls_of_the_guides_are_typed(tmp_path: Path, added: str, is_right: bool) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(f"{USE}\n{added}\n", encoding="utf-8")
    above = Path(tokbench.__file__).parents[1]
    is_installed = above.name == "site-packages"
    environment = {**os.environ, "MYPY_CACHE_DIR": str(tmp_path.parent / "mypy")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "use.py"],
        cwd=tmp_path,
        env=environment if is_installed else {**environment, "MYPYPATH": str(above)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is is_right, done.stdout + done.stderr
