"""Every library that `tokbench bench` compares with gives tokbench's ids, by every call that is timed."""

from __future__ import annotations

import pytest
from support.texts import bundled_texts

import tokbench
from tokbench.bench.measurements import Expected, sample_of
from tokbench.bench.peers import PEERS
from tokbench.bench.runner import runner_of
from tokbench.convert.conversion import Source
from tokbench.corpus import Document
from tokbench.errors import ConversionError

TRAINED = {
    **{
        pattern: {"backend": "bpe", "pattern": pattern}
        for pattern in ("gpt2", "gpt4", "gpt4o", "llama3", "none")
    },
    "sentencepiece": {"backend": "sentencepiece"},
    "wordpiece": {"backend": "wordpiece"},
}
RUN = {
    "tiktoken": {"gpt2", "gpt4", "gpt4o", "llama3", "none"},
    "tokenizers": {"gpt2", "gpt4", "gpt4o", "llama3", "sentencepiece", "wordpiece"},
    "gigatoken": {"gpt2", "gpt4", "gpt4o"},
    "fastokens": {"gpt2", "gpt4", "gpt4o", "llama3"},
    "snaptokens": {"gpt2", "gpt4o", "llama3"},
    "nanotoken": {"wordpiece"},
    "quicktok": {"none"},
    "rustbpe": set(),
    "gigabpe": set(),
    "sentencepiece": {"sentencepiece"},
}
"""The tokenizers that each library must run; it may refuse others."""


@pytest.fixture(scope="module")
def sample():
    """Return real text: on the hard cases in edge/, fastokens and `regex` disagree on what is a space."""
    kinds = ("parallel/en", "parallel/de", "parallel/ru", "code/")
    found = [Document(text, name, name) for name, text in bundled_texts().items() if name.startswith(kinds)]
    return sample_of(found, max_bytes=1_000_000)


@pytest.fixture(scope="module", params=TRAINED)
def trained(request, sample):
    return request.param, tokbench.train(sample.texts, vocab_size=1000, **TRAINED[request.param])


@pytest.mark.parametrize("name", PEERS)
def test_peer_gives_our_ids(name, trained, sample, tmp_path):
    kind, tokenizer = trained
    peer = PEERS[name]
    if not peer.is_installed:
        pytest.skip(f"{name} is not installed")
    try:
        peer.prepare(Source(tokenizer=tokenizer, description=tokenizer.description()), tmp_path)
        runner = peer.opened(tmp_path)
    except ConversionError as error:
        assert kind not in RUN[name], error.reason
        pytest.skip(f"{name} does not run it: {error.reason}")
    except Exception as error:
        assert kind not in RUN[name], error
        pytest.skip(f"{name} does not open it: {error}")
    expected = Expected(runner_of(tokenizer), sample)
    threads = [count for count in (1, 2) if runner.can_batch(count, processors=2)]
    difference = expected.difference(runner, threads=threads)
    if kind in RUN[name]:
        assert difference is None
    elif difference is not None:
        pytest.skip(f"{name} does not give the same: {difference}")


def test_every_peer_is_tested():
    assert set(RUN) == set(PEERS)
