"""`tokbench extend --budget`: frequent tokens replace rare ones, and the size stays."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.folders import json_of
from support.huggingface import added
from support.kernels import counted_by_definition
from support.lint import byte_level

import tokbench
from tokbench.backends.bpe import reference
from tokbench.surgery import reference as surgery

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done

pytestmark = pytest.mark.usefixtures("short_proofs")

OLD_TEXT = "the weather and the other feather, rather than leather. " * 9
NEW_TEXT = "return self.weather if self.other else None\n" * 7 + "while True: return other\n" * 5


@pytest.fixture
def trained(run: Callable[..., Done], tmp_path: Path) -> Path:
    """Train a tokenizer on one text, and write another text."""
    (tmp_path / "old.txt").write_text(OLD_TEXT)
    (tmp_path / "new.txt").write_text(NEW_TEXT)
    options = ("--vocab-size", "270", "--special-token", "<eos>", "--role", "eos=<eos>", "--out", "trained")
    run("train", "old.txt", *options).good()
    return tmp_path / "trained"


def swapped_by_definition(budget: int) -> list[bytes]:
    """Follow the definition: continue the training, count the tokens of the new text, and prune leaf by leaf."""
    old = reference.train(counted_by_definition([OLD_TEXT]), num_merges=270 - 256 - 1)
    pretokens = counted_by_definition([NEW_TEXT])
    merges = [*old, *reference.continue_training(pretokens, old, num_merges=budget)]
    ids = {(left, right): id for id, (left, right, _) in enumerate(merges, 256)}
    frequencies: Counter[int] = Counter()
    for word, count in pretokens.items():
        frequencies.update(reference.encode(word, ids) * count)
    left = surgery.prune([(*pair, id) for pair, id in ids.items()], frequencies, most=len(old))
    tokens = reference.vocabulary(merges)
    return [tokens[id] for _, _, id in left.merges]


@pytest.mark.parametrize(
    "budget", [pytest.param(1, marks=pytest.mark.slow), 6, pytest.param(40, marks=pytest.mark.slow)]
)
def test_swapped_tokens_equal_the_definition(
    run: Callable[..., Done], trained: Path, tmp_path: Path, budget: int
) -> None:
    done = run("extend", trained, "new.txt", "--budget", str(budget), "--out", "new", "--json").good().json
    assert done["schema"] == "tokbench.swap/1"
    assert done["old_vocab_size"] == done["new_vocab_size"] == 270
    old, new = tokbench.load(trained), tokbench.load(tmp_path / "new")
    special = new.info.special_tokens["<eos>"]
    tokens = [new.token_bytes(id) for id in range(256, 270) if id != special]
    assert sorted(tokens) == sorted(swapped_by_definition(budget))
    assert done["swapped"] == sum(old.token_id(token) is None for token in tokens)
    assert (done["old_tokens"], done["new_tokens"]) == (len(old.encode(NEW_TEXT)), len(new.encode(NEW_TEXT)))
    assert done["new_tokens"] < done["old_tokens"]
    # Libraries are compared once, with the files that are written.
    assert done["proofs"]["extension"]["encodings"] == []
    assert len(done["proofs"]["pruning"]["encodings"]) == 2


@pytest.mark.slow
def test_id_map_and_initial_rows_are_written(run: Callable[..., Done], trained: Path, tmp_path: Path) -> None:
    run("extend", trained, "new.txt", "--budget", "8", "--out", "new").good()
    old, new = tokbench.load(trained), tokbench.load(tmp_path / "new")
    ids, rows = json_of(tmp_path / "new" / "id_map.json"), json_of(tmp_path / "new" / "init.json")
    assert (len(ids["old_to_new"]), len(ids["new_to_old"])) == (270, 270)
    for before, after in enumerate(ids["old_to_new"]):
        assert after == -1 or (new.token_bytes(after), ids["new_to_old"][after]) == (
            old.token_bytes(before),
            before,
        )
    for after, before in enumerate(ids["new_to_old"]):
        begins = rows["ids"][after]
        assert begins == [before] if before >= 0 else len(begins) > 1
        assert b"".join(map(old.token_bytes, begins)) == new.token_bytes(after)
        assert sum(rows["weights"][after]) == pytest.approx(1)
    eos = json_of(tmp_path / "new" / "config_patch.json")["eos_token_id"]
    assert new.token_bytes(eos) == b"<eos>"


@pytest.mark.slow
def test_special_token_replaces_a_rare_token(run: Callable[..., Done], trained: Path, tmp_path: Path) -> None:
    run("extend", trained, "new.txt", "--budget", "3", "--special-token", "<|tool|>", "--out", "new").good()
    new = tokbench.load(tmp_path / "new")
    assert new.info.vocab_size == 270
    assert {"<eos>", "<|tool|>"} == set(new.info.special_tokens)


@pytest.mark.slow
def test_added_and_removed_tokens_are_reported(run: Callable[..., Done], trained: Path) -> None:
    printed = run("extend", trained, "new.txt", "--budget", "40", "--out", "new").good().stdout
    assert "270 ids: " in printed
    assert " added, " in printed
    assert "of 40 tokens: others are rarer on this text" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget", "5"], "--budget needs text to count tokens on"),
        (["new.txt", "--budget", "5", "--tokens", "5"], "--budget keeps the size"),
        (["new.txt", "--budget", "5", "--size", "500"], "--budget keeps the size"),
        (["new.txt", "--budget", "5", "--words", "new.txt"], "--budget keeps the size"),
        pytest.param(
            ["old.txt", "--budget", "5", "--min-frequency", "999"],
            "no token would be added",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_invalid_options_are_refused(
    run: Callable[..., Done], trained: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = run("extend", trained, *arguments, "--out", "new")
    assert done.code
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_gaps_in_the_ids_are_closed(run: Callable[..., Done], trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "gaps" / "tokenizer.json"
    path.parent.mkdir()
    document = byte_level(("t", "h"), (" ", "th"), added_tokens=[added("<eos>", 300)])
    document["model"]["vocab"]["<eos>"] = 300
    path.write_text(json.dumps(document))
    done = run("extend", path, "new.txt", "--budget", "2", "--out", "new", "--json").good().json
    assert (done["old_vocab_size"], done["new_vocab_size"]) == (301, 259)
    assert tokbench.load(tmp_path / "new").info.special_tokens.keys() == {"<eos>"}
