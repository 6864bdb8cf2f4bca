"""`tokbench viz`: the tokens of a text, for one or several tokenizers, with and without colour."""

from __future__ import annotations

import re

import pytest

import tokbench
from tokbench.errors import ConfigError
from tokbench.explain.byte_level import ByteLevelExplainer

ESCAPE = "\x1b["
SEGMENT = ["id", "piece", "bytes", "span", "kind"]


@pytest.fixture(scope="module")
def letters(start, tmp_path_factory):
    """Train and save a tokenizer of the 256 bytes alone; return its folder."""
    folder = tmp_path_factory.mktemp("letters")
    with start("train", "--vocab-size", "256", "--name", "letters", folder=folder) as running:
        running.communicate(timeout=120)
    return folder / "tokenizers" / "letters"


def test_tokens_are_separated_and_followed_by_statistics(run, trained):
    text = "the quick brown fox"
    done = run("viz", "-t", trained, text).good()
    header, tokens, statistics = done.lines
    tokenizer = tokbench.load(trained)
    pieces = [tokenizer.token_bytes(id).decode().replace(" ", "·") for id in tokenizer.encode(text)]
    assert header.startswith("── mine · bpe · 1,024 tokens ──")
    assert tokens == "│".join(pieces)
    ratio = f"{len(text) / len(pieces):.2f}"
    assert statistics == f"19 characters · 19 bytes · {len(pieces)} tokens · {ratio} bytes/token"
    assert done.stderr == ""


def test_special_tokens_are_marked(run, trained):
    assert (
        "a│⟪<|pad|>⟫│b" in run("viz", "-t", trained, "--special-policy", "encode", "a<|pad|>b").good().lines
    )
    assert "⟪" not in run("viz", "-t", trained, "a<|pad|>b").good().stdout
    run("viz", "-t", trained, "--special-policy", "raise", "a<|pad|>b").refused(1, "'<|pad|>' at bytes 1-8")


def test_ids_are_below_the_tokens(run, letters):
    assert run("viz", "-t", letters, "--ids", "a b").good().lines[1:3] == ["a │· │b", "97│32│98"]
    assert run("viz", "-t", letters, "a b").good().lines[1] == "a│·│b"


def test_several_tokenizers_are_shown_side_by_side(run, trained, letters, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = run("viz", "-t", trained, "-t", letters, "--layout", "side-by-side", "the fox").good()
    assert "── mine" in done.lines[0]
    assert "── letters" in done.lines[0]
    assert done.lines[1].endswith("t│h│e│·│f│o│x")
    assert max(map(len, done.lines)) <= 200
    monkeypatch.setenv("COLUMNS", "80")
    done = run("viz", "-t", trained, "-t", letters, "--layout", "side-by-side", "the fox").good()
    assert "shown stacked: side by side takes 83 columns, and there are 80" in done.lines


def test_each_of_several_texts_has_a_title(run, letters, tmp_path):
    (tmp_path / "a.txt").write_text("ab", encoding="utf-8")
    (tmp_path / "b.txt").write_text("cd", encoding="utf-8")
    lines = run("viz", "-t", letters, "*.txt", "-", "word", stdin=b"ef").good().lines
    assert [line for line in lines if "·" not in line] == [
        *["a.txt", "a│b", ""],
        *["b.txt", "c│d", ""],
        *["<stdin>", "e│f", ""],
        *["word", "w│o│r│d"],
    ]
    assert "a.txt" not in run("viz", "-t", letters, "a.txt").good().stdout


def test_json_has_the_tokens_of_each_tokenizer(run, trained, letters):
    text = "xé<|pad|>"
    data = run("viz", "-t", trained, "-t", letters, "--special-policy", "encode", "--json", text).good().json
    assert list(data) == ["schema", "text", "tokenizers"]
    assert (data["schema"], data["text"]) == ("tokbench.viz/1", text)
    assert [list(view) for view in data["tokenizers"]] == [
        [
            *["name", "backend", "vocab_size", "kernel", "characters", "bytes", "tokens", "bytes_per_token"],
            *["segments", "cut_characters"],
        ]
    ] * 2
    mine, spelled = data["tokenizers"]
    assert (mine["name"], mine["vocab_size"]) == ("mine", 1024)
    assert mine["segments"][-1] == {
        "id": 1023,
        "piece": "<|pad|>",
        "bytes": b"<|pad|>".hex(),
        "span": [3, 10],
        "kind": "special",
    }
    assert [list(segment) for segment in spelled["segments"]] == [SEGMENT] * 10
    assert [segment["id"] for segment in spelled["segments"]] == list(text.encode())
    assert (spelled["characters"], spelled["bytes"], spelled["tokens"]) == (9, 10, 10)
    assert spelled["bytes_per_token"] == 1.0
    assert spelled["cut_characters"] == [
        {"text": "é", "span": [1, 3], "boundaries": [2], "code_points": ["U+00E9"]}
    ]


def test_empty_text_has_no_tokens(run, letters, tmp_path):
    (tmp_path / "empty.txt").touch()
    for argument in ("", "-", "empty.txt"):
        assert run("viz", "-t", letters, argument).good().lines[-1] == "0 characters · 0 bytes · 0 tokens"
    assert run("viz", "-t", letters, "--json", "").good().json["tokenizers"][0]["bytes_per_token"] is None


def test_tokenizer_is_found_by_name_link_and_path(run, trained, tmp_path):
    assert "── default · bpe · 8,192 tokens" in run("viz", "text").good().stdout
    (tmp_path / "tokenizers").mkdir()
    (tmp_path / "tokenizers" / "near").symlink_to(trained)
    assert "── mine · bpe · 1,024 tokens" in run("viz", "-t", "near", "text").good().stdout
    assert "── mine" in run("viz", "-t", "tokenizers/near", "text").good().stdout
    run("viz", "-t", "nearby", "text").refused(1, "there is no tokenizer 'nearby'", "near")
    run("viz", "-t", "", "text").refused(1, "the name of the tokenizer is empty")


def test_steps_show_each_word_once_below_the_tokens(run, trained, letters):
    done = run("viz", "-t", trained, "-t", letters, "--steps", "the the").good()
    begin = [number for number, line in enumerate(done.lines) if line.startswith("── steps of ")]
    assert [done.lines[number].split(" · ")[0] for number in begin] == [
        "── steps of mine",
        "── steps of letters",
    ]
    merges = done.lines[begin[0] : begin[1]]
    assert [line.split()[1] for line in merges if re.match(" +[0-9]+  [^ ]", line)] == ["the", "·the"]
    assert any("t + h" in line or "h + e" in line for line in merges)
    again = run("viz", "-t", trained, "-t", letters, "--steps", "the the the").good()
    assert again.lines[begin[0] + 1 :] == done.lines[begin[0] + 1 :]
    assert "steps" not in run("viz", "-t", trained, "the the").good().stdout


def test_json_steps_lead_to_the_tokens(run, trained):
    [view] = run("viz", "-t", trained, "--steps", "--json", "the the").good().json["tokenizers"]
    steps = view["steps"]
    tokens_of_steps = [steps["pretokens"][step["pretoken"]]["tokens"] for step in steps["steps"]]
    assert [id for tokens in tokens_of_steps for id in tokens] == [
        segment["id"] for segment in view["segments"]
    ]
    for word in steps["pretokens"]:
        state = list(word["trace"]["symbols"])
        for merge in word["trace"]["merges"]:
            place = next(
                at for at in range(len(state)) if state[at : at + 2] == [merge["left"], merge["right"]]
            )
            state[place : place + 2] = [merge["merged"]]
        assert state == word["tokens"]
    [plain] = run("viz", "-t", trained, "--json", "the the").good().json["tokenizers"]
    assert "steps" not in plain


def test_page_and_picture_have_the_steps(run, trained, tmp_path):
    run("viz", "-t", trained, "--steps", "--html", "a.html", "--svg", "a.svg", "the <the").good()
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<details open><summary>Steps: byte-level BPE</summary>" in page
    assert "&lt;" in page.partition("<details")[2]
    assert "<the" not in page
    assert "steps of" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_tokens_are_shown_before_their_steps_are_derived(run, trained, monkeypatch):
    def derive_nothing(*_):
        raise ConfigError("no step is known")

    monkeypatch.setattr(ByteLevelExplainer, "trace", derive_nothing)
    done = run("viz", "-t", trained, "--steps", "the the")
    assert (done.code, "no step is known" in done.stderr) == (2, True)
    assert "the" in done.lines[1]
    assert done.lines[-1].startswith("── steps of mine")


def test_steps_of_a_sampled_segmentation_are_refused(run, trained):
    done = run("viz", "-t", trained, "--steps", "--dropout", "0.5", "the")
    done.refused(2, "a sampled segmentation has no known steps", "leave out")


# --- colour -----------------------------------------------------------------------------------


def test_colour_is_for_terminals_unless_requested(run, terminal, letters):
    assert ESCAPE not in run("viz", "-t", letters, "ab").good().stdout
    assert ESCAPE not in run("viz", "-t", letters, "ab", "--color", "never").good().stdout
    assert ESCAPE in run("viz", "-t", letters, "ab", "--color", "always").good().stdout
    assert ESCAPE in terminal("viz", "-t", letters, "ab").good().stdout
    assert ESCAPE not in terminal("viz", "-t", letters, "ab", "--color", "never").good().stdout


def test_no_color_is_respected_unless_colour_is_requested(terminal, letters):
    env = {"NO_COLOR": "1"}
    done = terminal("viz", "-t", letters, "ab", env=env).good()
    assert ESCAPE not in done.stdout
    assert "a│b" in done.stdout
    assert ESCAPE in terminal("viz", "-t", letters, "ab", "--color", "always", env=env).good().stdout
    assert ESCAPE in terminal("viz", "-t", letters, "ab", env={"NO_COLOR": ""}).good().stdout


def test_files_are_written_in_addition_to_the_output(run, letters, tmp_path):
    page, picture = tmp_path / "new" / "page.html", tmp_path / "new" / "picture.svg"
    plain = run("viz", "-t", letters, "--ids", "a b", "c").good()
    done = run("viz", "-t", letters, "--ids", "a b", "c", "--html", page, "--svg", picture).good()
    assert done.out == plain.out
    assert page.read_text(encoding="utf-8").count("<small>") == 4
    assert picture.read_bytes().startswith(b"<svg ")
    assert sorted(page.parent.iterdir()) == [page, picture]


def test_picture_width_follows_columns(run, letters, tmp_path, monkeypatch):
    heights = []
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        run("viz", "-t", letters, "x" * 150, "--svg", tmp_path / "x.svg").good()
        heights.append(int(re.search(r'viewBox="0 0 \S+ (\d+)"', (tmp_path / "x.svg").read_text())[1]))
    assert heights[0] > heights[1]


@pytest.mark.parametrize("option", ["--html", "--svg"])
def test_unwritable_files_are_refused_before_any_work(run, letters, tmp_path, option):
    run("viz", "-t", letters, "a", option, tmp_path).refused(2, "is a folder", option)
    same = tmp_path / "same"
    run("viz", "-t", letters, "a", "--html", same, "--svg", same).refused(2, "both name", "a different file")
    assert not same.exists()
