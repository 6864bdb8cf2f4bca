"""Conversations in shards: ids and masks of every conversation, in rows that split none that fits."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folders import files_of
from support.texts import bundled_texts

import tokbench
from tokbench.chat.shards import ConversationShards, conversation_corpus
from tokbench.errors import ConfigError, CorpusError, StoreError, TemplateError
from tokbench.shards.shard_file import ShardFile
from tokbench.shards.verification import verify_shards
from tokbench.shards.writing import write_shards

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.shards.reading import Shards

PAD = "<|endoftext|>"


@cache
def tokenizer() -> Any:
    tokenizer = tokbench.train(
        list(bundled_texts().values())[:3], vocab_size=400, special_tokens=("<|im_start|>", "<|im_end|>", PAD)
    )
    tokenizer.file_roles = {"pad": PAD}
    return tokenizer


def talk(size: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": "x" * size}, {"role": "assistant", "content": "Yes é"}]


def written(folder: Path, talks: list[Any], **options: Any) -> Shards:
    path = folder / "talks.jsonl"
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    how = {name: options.pop(name) for name in ("pack", "variables", "tools") if name in options}
    template = options.pop("template", None) or tokbench.ChatTemplate("chatml")
    encoder = ConversationShards(tokenizer(), template, **how)
    corpus = conversation_corpus(tokbench.open_corpus(path))
    return write_shards(tokenizer(), corpus, folder / "out", chat=encoder, **{"overwrite": True, **options})


@pytest.mark.parametrize("shard_tokens", [100_000, 60])
def test_ids_and_masks_equal_those_of_each_conversation(tmp_path: Path, shard_tokens: int) -> None:
    talks: list[Any] = [talk(3), {"messages": talk(40)}, talk(1)]
    shards = written(tmp_path, talks, shard_tokens=shard_tokens)
    template = tokbench.ChatTemplate("chatml")
    expected = [template.encode(tokenizer(), talk(size)) for size in (3, 40, 1)]
    assert [ids.tolist() for ids in shards] == [chat.ids.tolist() for chat in expected]
    masks = np.concatenate([shards.mask(n) for n in range(len(shards.index.shards))])
    assert masks.tolist() == [bit for chat in expected for bit in chat.loss_mask.tolist()]
    assert verify_shards(tmp_path / "out", tokenizer=tokenizer()).passed
    assert "Yes é" in shards.text(1, tokenizer())
    with pytest.raises(ConfigError, match="is not packed"):
        shards.rows(0)


@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=12),
    pack=st.integers(8, 64),
    limit=st.integers(1, 300),
)
def test_rows_split_no_conversation_that_fits(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], pack: int, limit: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    shards = written(folder, list(map(talk, sizes)), pack=pack, shard_tokens=limit)
    template = tokbench.ChatTemplate("chatml")
    pad = tokenizer().info.special_tokens[PAD]
    number = 0
    for shard in range(len(shards.index.shards)):
        ids, masks = shards.rows(shard)
        assert ids.shape == masks.shape
        assert ids.shape[1] == pack
        assert ids.size <= limit or len(shards.offsets(shard)) == 2
        for start, stop in zip(shards.offsets(shard), shards.offsets(shard)[1:], strict=False):
            chat = template.encode(tokenizer(), talk(sizes[number]))
            row = ids.reshape(-1)[start:stop]
            assert row[: len(chat)].tolist() == chat.ids.tolist()
            assert set(row[len(chat) :].tolist()) <= {pad}
            assert masks.reshape(-1)[start:stop].tolist() == chat.loss_mask.tolist() + [0] * (
                len(row) - len(chat)
            )
            if len(chat) <= pack:
                assert start // pack == (start + len(chat) - 1) // pack
            else:
                assert start % pack == 0
            number += 1
    assert number == len(sizes)


def test_interrupted_run_resumes_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = [talk(n) for n in range(30)]
    whole = written(tmp_path, talks, pack=64, shard_tokens=256)
    expected = files_of(whole.folder)

    finished: list[Any] = []
    finish = ShardFile.finish

    def interrupted(shard: ShardFile) -> Any:
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append(shard)
        return finish(shard)

    path = tmp_path / "talks.jsonl"
    given = tokenizer(), conversation_corpus(tokbench.open_corpus(path)), tmp_path / "again"
    options: dict[str, Any] = {"shard_tokens": 256}
    template = tokbench.ChatTemplate("chatml")
    monkeypatch.setattr(ShardFile, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_shards(*given, chat=ConversationShards(tokenizer(), template, pack=64), **options)
    monkeypatch.undo()
    write_shards(*given, chat=ConversationShards(tokenizer(), template, pack=64), resume=True, **options)
    assert {each.name: each.read_bytes() for each in (tmp_path / "again").iterdir()} == expected


def test_changed_mask_is_reported(tmp_path: Path) -> None:
    shards = written(tmp_path, [talk(3)])
    path = shards.folder / "shard-00000.mask.npy"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\x07")
    problems = verify_shards(shards.folder).problems
    assert any("shard-00000.mask.npy was changed" in problem for problem in problems)
    assert any("other values than 0 and 1" in problem for problem in problems)
    path.unlink()
    assert not verify_shards(shards.folder).passed


def test_invalid_conversations_and_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"talks.jsonl, line 2, messages\[0\].role"):
        written(tmp_path, [talk(1), [{"content": "x"}]])
    with pytest.raises(ConfigError, match="--pack is 0"):
        written(tmp_path, [talk(1)], pack=0)
    plain = _plain()
    with pytest.raises(ConfigError, match="no token to pad rows with"):
        ConversationShards(plain, tokbench.ChatTemplate("chatml"), pack=8)
    shards = write_shards(plain, _text_corpus(tmp_path), tmp_path / "texts")
    with pytest.raises(ConfigError, match="contains texts"):
        shards.mask(0)
    with pytest.raises(ConfigError, match="contains conversations"):
        verify_shards(
            written(tmp_path, [talk(1)]).folder, tokenizer=tokenizer(), corpus=_text_corpus(tmp_path)
        )


def compared(folder: Path, talks: list[Any], *, sample: int | None = None) -> Any:
    """Verify the shards of a folder against these conversations."""
    path = folder / "others.jsonl"
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    shards = tokbench.open_shards(folder / "out")
    assert shards.index.options.chat is not None
    return verify_shards(
        shards.folder,
        tokenizer=tokenizer(),
        corpus=conversation_corpus(tokbench.open_corpus(path)),
        chat=ConversationShards.recorded(tokenizer(), shards.index.options.chat),
        sample=sample,
    )


@pytest.mark.parametrize("pack", [None, 32])
def test_shards_are_verified_against_their_conversations(tmp_path: Path, pack: int | None) -> None:
    talks = [talk(n) for n in range(9)]
    written(tmp_path, talks, pack=pack, shard_tokens=90)
    verification = compared(tmp_path, talks)
    assert (verification.passed, verification.compared) == (True, 9)
    assert compared(tmp_path, talks, sample=3).compared == 3
    others = [*talks[:4], talk(30), *talks[5:]]
    assert compared(tmp_path, others).problems == ("conversation 4 has different ids than the corpus gives",)
    assert "has 8 documents" in compared(tmp_path, talks[:8]).problems[-1]
    spoken = [*talks[:8], [*talk(8)[:1], {**talk(8)[1], "role": "user"}]]
    assert not compared(tmp_path, spoken).passed


def test_different_mask_is_reported(tmp_path: Path) -> None:
    shards = written(tmp_path, [talk(1), talk(2)])
    assert (
        shards.mask_of(1).tolist()
        == tokbench.ChatTemplate("chatml").encode(tokenizer(), talk(2)).loss_mask.tolist()
    )
    index = json.loads((shards.folder / "index.json").read_text())
    index["options"]["chat"]["train_on"] = ["user"]
    (shards.folder / "index.json").write_text(json.dumps(index))
    assert compared(tmp_path, [talk(1), talk(2)]).problems[0] == (
        "conversation 0 has a different mask than the corpus gives"
    )


def test_template_inputs_are_recorded(tmp_path: Path) -> None:
    given = "{{ name }}{{ (tools or [])|length }}{{ strftime_now('%d %b') }}"
    source = given + "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(CorpusError, match=r"talks.jsonl, line 1: the template writes today's date"):
        written(tmp_path, [talk(1)] * 2, template=tokbench.ChatTemplate.from_text(source))
    day = datetime(2024, 7, 26, tzinfo=UTC)
    dated = tokbench.ChatTemplate.from_text(source, date=day)
    tool = {"type": "function", "function": {"name": "f"}}
    shards = written(tmp_path, [talk(1)], template=dated, variables={"name": "Ada"}, tools=[tool])
    assert shards.text(0, tokenizer()) == "Ada126 Julx" + "Yes é"
    chat = shards.index.options.chat
    assert chat is not None
    assert (chat.date, chat.variables, chat.tools) == ("2024-07-26", {"name": "Ada"}, (tool,))
    with pytest.raises(TemplateError, match="no chat template"):
        ConversationShards.recorded(_plain(), chat)
    with pytest.raises(ConfigError, match="is not the one that made the shards"):
        ConversationShards.recorded(tokenizer(), chat)
    (tmp_path / "mine.jinja").write_text(source)
    again = ConversationShards.recorded(tokenizer(), chat, template=str(tmp_path / "mine.jinja"))
    assert dataclasses.replace(again.options, template=chat.template) == chat


def test_resuming_a_finished_run_does_nothing(tmp_path: Path) -> None:
    first = written(tmp_path, [talk(1)], variables={"a": 1})
    assert (
        written(tmp_path, [talk(1)], variables={"a": 1}, resume=True, overwrite=False).tokens == first.tokens
    )
    with pytest.raises(StoreError, match=r'--var was {"a":1}, and is {"a":2}'):
        written(tmp_path, [talk(1)], variables={"a": 2}, resume=True, overwrite=False)


@pytest.mark.parametrize("layout", ["indented", "list", "lines", "blank lines"])
def test_conversations_are_read_from_json_of_any_layout(tmp_path: Path, layout: str) -> None:
    talks = [{"messages": talk(n)} for n in range(3)]
    text = {
        "indented": json.dumps(talks, indent=1),
        "list": json.dumps(talks),
        "lines": "\n".join(map(json.dumps, talks)),
        "blank lines": "\r\n\r\n".join(map(json.dumps, talks)),
    }[layout]
    (tmp_path / "talks.json").write_text(text, encoding="utf-8", newline="")
    corpus = conversation_corpus(tokbench.open_corpus(tmp_path / "talks.json"))
    encoder = ConversationShards(tokenizer(), tokbench.ChatTemplate("chatml"))
    shards = write_shards(tokenizer(), corpus, tmp_path / "out", chat=encoder)
    expected = written(tmp_path, talks)
    assert [ids.tolist() for ids in shards] == [ids.tolist() for ids in expected]


def test_size_of_indented_json_is_limited(tmp_path: Path) -> None:
    (tmp_path / "talks.json").write_text(json.dumps([talk(100)] * 20, indent=1), encoding="utf-8")
    corpus = conversation_corpus(tokbench.open_corpus(tmp_path / "talks.json", max_document_bytes=1000))
    encoder = ConversationShards(tokenizer(), tokbench.ChatTemplate("chatml"))
    with pytest.raises(CorpusError, match=r"or at most 1,000 bytes"):
        write_shards(tokenizer(), corpus, tmp_path / "out", chat=encoder)


def _plain() -> Any:
    return tokbench.train(["a b"], vocab_size=258)


def _text_corpus(folder: Path) -> Any:
    path = folder / "text.txt"
    path.write_text("some text", encoding="utf-8")
    return tokbench.open_corpus(path)
