"""Conversations in shards: ids and masks of every conversation, in rows that cut none that fits."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import bundled_texts

import tokbench
from tokbench.chat.shards import ConversationShards, conversation_corpus
from tokbench.errors import ConfigError, CorpusError
from tokbench.shards.shard_file import ShardFile
from tokbench.shards.verification import verify_shards
from tokbench.shards.writing import write_shards

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.shards.reading import Shards

PAD = "<|endoftext|>"


@cache
def tokenizer() -> Any:
    made = tokbench.train(
        list(bundled_texts().values())[:3], vocab_size=400, special_tokens=("<|im_start|>", "<|im_end|>", PAD)
    )
    made.file_roles = {"pad": PAD}
    return made


def talk(size: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": "x" * size}, {"role": "assistant", "content": "Yes é"}]


def written(folder: Path, talks: list[Any], **options: Any) -> Shards:
    path = folder / "talks.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in talks), encoding="utf-8")
    encoder = ConversationShards(tokenizer(), tokbench.ChatTemplate("chatml"), pack=options.pop("pack", None))
    corpus = conversation_corpus(tokbench.open_corpus(path))
    return write_shards(tokenizer(), corpus, folder / "out", chat=encoder, overwrite=True, **options)


@pytest.mark.parametrize("shard_tokens", [100_000, 60])
def test_documents_and_masks_are_those_of_each_conversation(tmp_path: Path, shard_tokens: int) -> None:
    talks: list[Any] = [talk(3), {"messages": talk(40)}, talk(1)]
    shards = written(tmp_path, talks, shard_tokens=shard_tokens)
    template = tokbench.ChatTemplate("chatml")
    expected = [template.encode(tokenizer(), talk(size)) for size in (3, 40, 1)]
    assert [ids.tolist() for ids in shards] == [chat.ids.tolist() for chat in expected]
    masks = np.concatenate([shards.mask(n) for n in range(len(shards.index.shards))])
    assert masks.tolist() == [one for chat in expected for one in chat.loss_mask.tolist()]
    assert verify_shards(tmp_path / "out", tokenizer=tokenizer()).passed
    assert "Yes é" in shards.text(1, tokenizer())
    with pytest.raises(ConfigError, match="is not packed"):
        shards.rows(0)


@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=12),
    pack=st.integers(8, 64),
    limit=st.integers(1, 300),
)
def test_rows_cut_no_conversation_that_fits(
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
            found = ids.reshape(-1)[start:stop]
            assert found[: len(chat)].tolist() == chat.ids.tolist()
            assert set(found[len(chat) :].tolist()) <= {pad}
            assert masks.reshape(-1)[start:stop].tolist() == chat.loss_mask.tolist() + [0] * (
                len(found) - len(chat)
            )
            if len(chat) <= pack:
                assert start // pack == (start + len(chat) - 1) // pack
            else:
                assert start % pack == 0
            number += 1
    assert number == len(sizes)


def test_an_interrupted_run_ends_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = [talk(n) for n in range(30)]
    whole = written(tmp_path, talks, pack=64, shard_tokens=256)
    expected = {path.name: path.read_bytes() for path in whole.folder.iterdir()}

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


def test_a_changed_mask_is_told(tmp_path: Path) -> None:
    shards = written(tmp_path, [talk(3)])
    path = shards.folder / "shard-00000.mask.npy"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\x07")
    problems = verify_shards(shards.folder).problems
    assert any("shard-00000.mask.npy was changed" in each for each in problems)
    assert any("other values than 0 and 1" in each for each in problems)
    path.unlink()
    assert not verify_shards(shards.folder).passed


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"conversation 1 of its file, from 0, messages\[0\].role"):
        written(tmp_path, [talk(1), [{"content": "x"}]])
    with pytest.raises(ConfigError, match="rows of 0 ids cannot be"):
        written(tmp_path, [talk(1)], pack=0)
    plain = tokbench.train(["a b"], vocab_size=258)
    with pytest.raises(ConfigError, match="no token to fill rows with"):
        ConversationShards(plain, tokbench.ChatTemplate("chatml"), pack=8)
    shards = write_shards(plain, _text_corpus(tmp_path), tmp_path / "texts")
    with pytest.raises(ConfigError, match="holds texts"):
        shards.mask(0)
    with pytest.raises(ConfigError, match="holds conversations"):
        verify_shards(
            written(tmp_path, [talk(1)]).folder, tokenizer=tokenizer(), corpus=_text_corpus(tmp_path)
        )


def _text_corpus(folder: Path) -> Any:
    path = folder / "text.txt"
    path.write_text("some text", encoding="utf-8")
    return tokbench.open_corpus(path)
