"""Tests for sharding conversations in parts: ids and masks equal those of a single run, and findings are reported."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support.engines import HereEngine
from support.folders import files_of
from support.texts import bundled_texts

import tokbench
from tokbench.chat.shards import ConversationShards, conversation_corpus
from tokbench.chat.template import ChatTemplate
from tokbench.errors import DistributedError, StoreError
from tokbench.opening.request import OpenRequest
from tokbench.shards.verification import verify_shards
from tokbench.shards.writing import write_shards
from tokbench.workbench.open import NamedTokenizer
from tokbench.workbench.shard_parts import write_shard_parts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.shards.layout import ShardIndex

SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")


@cache
def tokenizer() -> Any:
    texts = list(bundled_texts().values())[:2]
    return tokbench.train(texts, vocab_size=300, special_tokens=SPECIAL, roles={"pad": SPECIAL[2]})


class Talks:
    """Conversations in files, a saved tokenizer, and methods that write shards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "mine.jinja"
        self.template.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
        (folder / "corpus").mkdir()
        lines = [json.dumps(talk(number)) for number in range(20)]
        (folder / "corpus" / "a.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "corpus" / "b.json").write_text(json.dumps([talk(30), talk(31)], indent=1))
        tokenizer().save(folder / "saved")
        self.named = NamedTokenizer(str(folder / "saved"), OpenRequest())
        self.tokenizer = tokbench.load(folder / "saved")

    @property
    def corpus(self) -> tokbench.Corpus:
        return conversation_corpus(tokbench.open_corpus(self.folder / "corpus"))

    def encoder(self, template: str, **options: Any) -> ConversationShards:
        return ConversationShards(self.tokenizer, ChatTemplate.of(self.tokenizer, template), **options)

    def write(
        self, out: str, *, template: str = "chatml", chat: Mapping[str, Any] | None = None, **options: Any
    ) -> ShardIndex:
        return write_shard_parts(
            self.named,
            self.tokenizer,
            self.corpus,
            self.folder / out,
            engine=options.pop("engine", HereEngine()),
            chat=options.pop("encoder", None) or self.encoder(template, **(chat or {})),
            template=template,
            **options,
        )

    def bytes_of(self, out: str) -> dict[str, bytes]:
        return files_of(self.folder / out)


def talk(number: int) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"{number}? <|im_end|>"},
        {"role": "assistant", "content": "Yes é " * (number % 4)},
    ]


@pytest.fixture
def talks(tmp_path: Path) -> Talks:
    return Talks(tmp_path)


@pytest.mark.parametrize(("part_bytes", "num_shards"), [(1000, 3), (10**9, 1)])
@pytest.mark.parametrize("template", ["chatml", "mine.jinja"])
def test_ids_and_masks_equal_a_single_run(
    talks: Talks, monkeypatch: pytest.MonkeyPatch, part_bytes: int, num_shards: int, template: str
) -> None:
    monkeypatch.chdir(talks.folder)
    chat = {"train_on": ["user"]}
    single = write_shards(
        talks.tokenizer, talks.corpus, talks.folder / "single", chat=talks.encoder(template, **chat)
    )
    index = talks.write("out", template=template, chat=chat, part_bytes=part_bytes)
    shards = tokbench.open_shards(talks.folder / "out")
    assert len(index.shards) == num_shards
    assert [row.tolist() for row in shards] == [row.tolist() for row in single]
    assert [shards.mask_of(number).tolist() for number in range(22)] == [
        single.mask_of(number).tolist() for number in range(22)
    ]
    again = verify_shards(
        talks.folder / "out", tokenizer=talks.tokenizer, corpus=talks.corpus,
        chat=talks.encoder(template, **chat),
    )  # fmt: skip
    assert (again.problems, again.compared) == ((), 22)


def test_rows_end_with_a_part_and_split_no_conversation(talks: Talks) -> None:
    talks.write("out", chat={"pack": 64}, part_bytes=300)
    shards = tokbench.open_shards(talks.folder / "out")
    for number in range(len(shards.index.shards)):
        rows, masks = shards.rows(number)
        assert rows.shape == masks.shape and rows.shape[1] == 64
    assert "Yes é" in shards.text(21, talks.tokenizer)
    assert verify_shards(talks.folder / "out", tokenizer=talks.tokenizer).passed


def test_findings_of_workers_are_reported(talks: Talks) -> None:
    here, elsewhere = talks.encoder("chatml"), talks.encoder("chatml")
    write_shards(talks.tokenizer, talks.corpus, talks.folder / "single", chat=here)
    talks.write("out", encoder=elsewhere, part_bytes=300)
    assert (elsewhere.findings, elsewhere.tokens, elsewhere.learned) == (
        here.findings, here.tokens, here.learned
    )  # fmt: skip
    assert here.findings == 22


def test_run_is_resumed_only_with_the_same_options(talks: Talks) -> None:
    talks.write("wanted", part_bytes=300)
    with pytest.raises(DistributedError):
        talks.write("out", part_bytes=300, engine=HereEngine(breaking=2))
    with pytest.raises(StoreError, match="--train-on was"):
        talks.write("out", part_bytes=300, resume=True, chat={"train_on": ["user"]})
    talks.write("out", part_bytes=300, resume=True)
    assert talks.bytes_of("out") == talks.bytes_of("wanted")
    talks.write("out", part_bytes=300, resume=True)
    with pytest.raises(StoreError, match="--train-on was"):
        talks.write("out", part_bytes=300, resume=True, chat={"train_on": ["user"]})


def test_different_template_on_the_worker_is_refused(talks: Talks) -> None:
    encoder = talks.encoder(str(talks.template))
    talks.template.write_text("{{ messages[0].content }}")
    with pytest.raises(DistributedError, match="the chat template is not the one"):
        talks.write("out", template=str(talks.template), encoder=encoder)


def test_malformed_conversation_is_named(talks: Talks) -> None:
    with (talks.folder / "corpus" / "a.jsonl").open("a") as file:
        file.write('{"messages": 5}\n')
    with pytest.raises(DistributedError, match=r"1 of \d parts failed") as error:
        talks.write("out", part_bytes=300)
    assert "a.jsonl, bytes 1,800 to 2,056, line 3, messages: expected a list" in error.value.message
