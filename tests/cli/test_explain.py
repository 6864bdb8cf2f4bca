"""`tokbench explain` as a user runs it."""

from __future__ import annotations

import json

import pytest
from support import huggingface


def test_steps_of_a_text_are_shown(run, trained):
    done = run("explain", "unhappiness isn't", "-t", trained).good()
    assert done.lines[0].startswith("── mine · byte-level BPE")
    assert any("'t" in line and "a contraction" in line for line in done.lines)
    assert any(" + " in line and "rank " in line for line in done.lines)
    assert any("no merge joins" in line or "came first" in line for line in done.lines)
    assert done.lines[-1].startswith("tokens")


def test_json_has_the_ids_of_encode(run, trained):
    text = "Hello, wörld! 12345"
    document = run("explain", text, "-t", trained, "--json").good().json
    ids = run("encode", text, "-t", trained, "--json").good().json["ids"]
    assert document["schema"] == "tokbench.explain/2"
    assert document["ids"] == ids
    pretokens, pieces = document["pretokens"], document["pieces"]
    assert [id for step in document["steps"] for id in pretokens[step["pretoken"]]["tokens"]] == ids
    assert b"".join(bytes.fromhex(pieces[str(id)]["bytes"]) for id in ids).decode() == text
    assert [boundary["token"] for boundary in document["boundaries"]] == list(range(1, len(ids)))
    assert all(document["causes"][boundary["cause"]]["why"] for boundary in document["boundaries"])


def test_json_has_repeated_pretokens_once(run, trained):
    text = " unlikely words"
    once = run("explain", text, "-t", trained, "--json").good().json
    often = run("explain", text * 50, "-t", trained, "--json").good().json
    assert [step["text"] for step in often["pretokens"]] == [step["text"] for step in once["pretokens"]]
    assert len(often["steps"]) == 50 * len(once["steps"])
    assert often["pieces"] == once["pieces"]


def test_pretoken_that_occurs_again_refers_to_the_first(run, trained, tmp_path):
    special = run(
        "explain", "the<|endoftext|>the<|endoftext|>", "-t", trained, "--special-policy", "encode"
    ).good()
    again = [line.split()[:4] for line in special.lines if "  as " in line]
    assert again == [["3", "the", "as", "1:"], ["4", "<|endoftext|>", "as", "2:"]]
    (tmp_path / "words.txt").write_text("the first words and the last words of one text\n" * 20)
    run("train", "words.txt", "--backend", "sentencepiece", "--vocab-size", "290", "--name", "pieces").good()
    lines = run("explain", "words of words", "-t", "pieces").good().lines
    assert any(line.startswith("  3  ▁words  as 1: ") for line in lines)
    steps = run("viz", "words of words", "-t", "pieces", "--steps").good().lines
    shown = [line.split()[1] for line in steps if line[:3].strip().isdecimal() and line[3] == " "]
    assert shown == ["▁words", "▁of"]


def test_output_fits_the_terminal_width(run, trained, columns):
    done = run("explain", "antidisestablishmentarianism " * 3 + "ｆｕｌｌ 안녕하세요", "-t", trained).good()
    assert max(map(len, done.lines)) <= columns


def test_wrapped_pretoken_heading_is_indented(run, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = run("explain", "-t", trained, "--text", "word").good().lines
    title = next(number for number, line in enumerate(lines) if line.startswith("  1  word"))
    assert lines[title + 1].startswith("     ")


def test_boundaries_with_the_same_cause_share_a_line(run, tmp_path):
    text = "the first words and the last words of one text\n"
    (tmp_path / "words.txt").write_text(text * 20)
    run("train", "words.txt", "--backend", "unigram", "--vocab-size", "280", "--name", "unigram").good()
    lines = run("explain", "-t", "unigram", "--text", "hxhxhx").good().lines
    reasons = [line for line in lines if line.endswith("no piece reaches across")]
    assert reasons
    assert all(line.count("│") > 1 for line in reasons)


def test_a_long_pretoken_takes_a_few_rows(run, trained):
    lines = run("explain", "-t", trained, "--text", "x" * 5_000).good().lines
    assert len(lines) < 40
    assert [line[-1] for line in lines if line.strip(" x…") == "" and line.endswith("…")] == ["…"] * 2
    assert any(line.endswith('x…  no merge joins "x" and "x"') for line in lines)


def test_many_short_tokens_fill_the_rows(run, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = run("explain", "-t", trained, "--text", "1," * 500).good().lines
    rows = [line.strip() for line in lines if "1│,│1" in line]
    assert len(rows) == 2 * 6, "six rows of pre-tokens, and six of tokens"
    assert all(len(row) > 25 for row in rows)
    assert lines[-1].endswith("…  1,000")


def test_characters_without_any_token_are_named(run, tmp_path):
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "unk_token": None}
    document = huggingface.document(model, pre_tokenizer={"type": "Whitespace"})
    (tmp_path / "mine.json").write_text(json.dumps(document))
    lines = run("explain", "-t", "mine.json", "--text", "axxéb x ab").good().lines
    missing = [line.strip() for line in lines if "unknown" in line]
    assert missing == [
        "xé  in no token: the vocabulary lacks them, and there is no unknown token",
        "x  in no token: the vocabulary lacks it, and there is no unknown token",
    ]
    assert not any("nothing is merged" in line for line in lines)
    found = run("explain", "-t", "mine.json", "--text", "axxéb x ab", "--json").good().json
    assert [step["trace"]["dropped"] for step in found["pretokens"]] == ["xxé", "x", ""]


def test_single_token_can_be_explained(run, trained):
    document = run("explain", "two words", "--token", "0", "-t", trained, "--json").good().json
    assert [step["text"] for step in document["pretokens"]] == ["two"]
    assert len(document["steps"]) == 1
    run("explain", "two words", "--token", "99", "-t", trained).refused(2, "there is no token 99")


def test_word_is_explained_as_one_token_or_several(run, trained):
    done = run("explain", "--word", "New York", "--word", "x", "--word", "qzxqzx", "-t", trained).good()
    text = " ".join(done.lines)
    assert '"New York" is' in text
    assert "the pattern begins a pre-token" in text
    assert '"x" is one token' in text
    assert "It would be one with" in text


def test_tokens_are_not_dimmed(run, trained):
    """Tokens must be readable from the last row of a lecture hall; only the remarks beside them are faint."""
    shown = run("explain", "--text", "th", "-t", trained, "--color", "always").good().stdout
    [state] = [line for line in shown.splitlines() if "rank" in line]
    token = state[: state.rindex("th")].rsplit("\x1b[", 1)[1]
    assert "48;2;" in token or "48;5;" in token
    assert not token.startswith("2;")


def test_unknown_word_is_not_called_one_token(run, tmp_path):
    (tmp_path / "words.txt").write_text("a b")
    run("train", "words.txt", "--backend", "char", "--name", "chars").good()
    unknown, known = (
        run("explain", "--word", "z", "--word", "a", "-t", "chars", "--json").good().json["words"]
    )
    assert "it becomes the unknown token" in unknown["sentence"]
    assert (unknown["piece"], known["piece"]) == ("z", None)


def test_named_merges_make_the_word_one_token(run, trained):
    document = run("explain", "--word", "qzxqzx", "-t", trained, "--json").good().json
    [word] = document["words"]
    tokens = {bytes.fromhex(token["bytes"]) for token in word["tokens"]}
    for left, right in word["merges"]:
        assert bytes.fromhex(left["bytes"]) in tokens
        assert bytes.fromhex(right["bytes"]) in tokens
        tokens.add(bytes.fromhex(left["bytes"]) + bytes.fromhex(right["bytes"]))
    assert b"qzxqzx" in tokens


@pytest.mark.parametrize("backend", ["byte", "char", "word"])
def test_algorithms_without_training_are_explained(run, backend):
    run("train", "--backend", backend, "--name", "mine").good()
    done = run("explain", "a b", "-t", "mine").good()
    assert any("every" in line for line in done.lines)


def test_play_without_a_terminal_prints_every_step(run, trained):
    assert run("explain", "a word", "-t", trained, "--play").good().lines[-1].startswith("tokens")


def test_play_waits_for_a_key(terminal, trained):
    done = terminal("explain", "happiness", "-t", trained, "--play", interrupt_at=b"happiness")
    assert done.code == 130
    assert not any(line.startswith("tokens") for line in done.lines)


def test_tokens_are_coloured(run, trained):
    assert b"\x1b[" in run("explain", "happiness", "-t", trained, "--color", "always").good().out


def test_empty_text_is_named(run, trained):
    lines = run("explain", "", "-t", trained).good().lines
    assert lines[1:] == [
        "text       (empty text)",
        "normalize  no change",
        "split      0 pre-tokens: the pattern gpt4",
        "",
        "tokens     0",
    ]


def test_empty_text_and_word_are_explained(run, trained):
    run("explain", "", "-t", trained).good()
    assert run("explain", "--word", "", "-t", trained).good().lines == ['"" has no tokens.']


def test_words_of_a_corpus_split_at_a_place_are_found(run, trained, tmp_path):
    (tmp_path / "text.txt").write_text("qzqz zz qzqz")
    done = run("explain", "--find-split", "qz|qz", "text.txt", "-t", trained, "--json").good().json
    assert [(word["word"].strip(), word["count"]) for word in done["words"]] in (
        [("qzqz", 1), ("qzqz", 1)],
        [("qzqz", 2)],
    )
    assert run("explain", "--find-split", "qz|qz", "text.txt", "-t", trained).good().lines
    run("explain", "--find-split", "no", "text.txt", "-t", trained).refused(2, "neither a place nor a cause")
    run("explain", "text", "--top", "3").refused(2, "--top limits the words of --find-split")


def test_words_are_found_in_stdin_without_files(run, trained):
    done = run("explain", "--find-split", "qz|qz", "-t", trained, "--json", stdin=b"qzqz zz").good().json
    assert [word["word"] for word in done["words"]] == ["qzqz"]
    assert done["occurrences"] == 2


def test_merge_is_shown_with_its_displaced_pairs(run):
    run("train", "--trace", "--vocab-size", "400", "--name", "mine").good()
    done = run("explain", "--merge", "0", "--merge", "100", "-t", "mine").good()
    assert done.lines[0].startswith("merge 0 of 144")
    assert any("occurrences when it was merged" in line for line in done.lines)
    assert any("lost" in line for line in done.lines)
    [first, _] = (
        run("explain", "--merge", "0", "--merge", "100", "-t", "mine", "--json").good().json["merges"]
    )
    assert first["displaced"]
    assert first["count"] >= first["displaced"][0]["lost"]


def test_merge_without_a_trace_suggests_train_trace(run, trained):
    assert any("train --trace" in line for line in run("explain", "--merge", "5", "-t", trained).good().lines)
    run("explain", "--merge", "99999", "-t", trained).refused(2, "there is no merge 99999")


def test_merge_of_a_tokenizer_without_merges_is_refused(run):
    run("train", "--backend", "byte", "--name", "mine").good()
    run("explain", "--merge", "0", "-t", "mine").refused(2, "has no list of merges")


@pytest.mark.parametrize(
    "arguments",
    [
        ("text", "--word", "x"),
        ("--word", "x", "--merge", "1"),
        ("--merge", "1", "--token", "1"),
        ("--word", "x", "--play"),
        ("text", "--play", "--json"),
    ],
)
def test_contradictory_options_are_refused(run, trained, arguments):
    run("explain", *arguments, "-t", trained).refused(2)


@pytest.mark.parametrize("engine", ["native", "library"])
def test_merge_of_a_tokenizer_json_is_explained_alike(run, trained, engine):
    fields = ("rank", "left", "right", "merged", "used_by", "uses")
    [ours] = run("explain", "--merge", "40", "-t", trained, "--json").good().json["merges"]
    arguments = ("-t", trained / "tokenizer.json", "--engine", engine)
    [theirs] = run("explain", "--merge", "40", *arguments, "--json").good().json["merges"]
    assert {name: theirs[name] for name in fields} == {name: ours[name] for name in fields}
    assert theirs["displaced"] is None


@pytest.mark.parametrize("backend", ["unigram", "sentencepiece"])
def test_unknown_token_is_shown_by_its_name(run, tmp_path, backend):
    """Not by the first of the characters that it stands for: it is the same token for all of them."""
    (tmp_path / "words.txt").write_text("the first words and the last words of one text\n" * 20)
    options = ["--backend", backend, "--vocab-size", "40", "--option", "byte_fallback=false", "--out", "mine"]
    run("train", "words.txt", *options).good()
    assert "<unk>" in run("explain", "日本 語", "-t", "mine").good().lines[-1]
    data = run("explain", "日本 語", "-t", "mine", "--json").good().json
    unknown = data["pieces"]["0"]
    assert (unknown["piece"], unknown["bytes"]) == ("<unk>", b"<unk>".hex())
    assert '"<unk>"' in run("explain", "--word", "日本", "-t", "mine").good().stdout
