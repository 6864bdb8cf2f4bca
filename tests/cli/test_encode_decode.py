"""`tokbench encode` and `tokbench decode`: text becomes ids, and the ids become the same text again."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import pytest

import tokbench
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.files.bundled import bundled_files

KEYS = ["schema", "source", "name", "backend", "vocab_size", "kernel", "ids", "tokens", "spans"]
AWKWARD = {
    "nul": b"a\0b\0\0",
    "carriage returns": b"\r\n\r\r\n \r",
    "no line end": b"last line",
    "only spaces": b"   \t  ",
    "escape sequences": b"\x1b[31mred\x1b[0m\x07\x08",
    "every scalar once": "".join(map(chr, [*range(0x100), 0x2028, 0xFFFD, 0x10FFFF])).encode(),
    "joined": "👩‍👩‍👧‍👦 e\u0301 한국어 नमस्ते".encode(),
}


# --- there and back ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.name, marks=() if "edge" in file.name else pytest.mark.slow)
        for file in bundled_files()
    ],
)
def test_bundled_texts_roundtrip(run, file):
    data = file.path.read_bytes()
    ids = run("encode", "-", stdin=data).good().out
    assert run("decode", "-", stdin=ids).good().out == data
    assert ids.endswith(b"\n")
    assert set(ids) <= set(b"0123456789 \n")


@pytest.mark.parametrize("data", AWKWARD.values(), ids=AWKWARD)
def test_awkward_texts_roundtrip(run, data):
    ids = run("encode", "-", stdin=data).good()
    back = run("decode", "-", stdin=ids.out).good()
    assert (back.out, ids.stderr, back.stderr) == (data, "", "")
    assert run("decode", "-", stdin=run("encode", "-", "--json", stdin=data).good().out).good().out == data


@pytest.mark.parametrize("name", ["carriage returns", "escape sequences"])
def test_awkward_texts_roundtrip_through_pipes(process, name):
    data = AWKWARD[name]
    ids = process("encode", "-", stdin=data).good()
    back = process("decode", "-", stdin=ids.out).good()
    assert (back.out, ids.stderr, back.stderr) == (data, "", "")


def test_empty_text_has_no_ids(run, tmp_path):
    (tmp_path / "empty.txt").touch()
    assert run("encode", "").good().out == b"\n"
    assert run("encode", "empty.txt").good().out == b"\n"
    assert run("encode", "-").good().out == b"\n"
    assert run("encode", "-", "--json").good().json["ids"] == []
    for nothing in (b"", b"\n", b"[]", b'{"ids": []}'):
        assert run("decode", "-", stdin=nothing).good().out == b""


# --- encode -----------------------------------------------------------------------------------


def test_ids_equal_those_of_the_python_api(run, trained):
    text = "Hello, wörld! if x == 1:"
    ids = tokbench.load(trained).encode(text)
    assert run("encode", "-t", trained, text).good().stdout == " ".join(map(str, ids)) + "\n"
    assert run("encode", "--tokenizer", trained, text).good().stdout == " ".join(map(str, ids)) + "\n"


def test_engine_can_be_requested(run, trained):
    text = "Hello, wörld! if x == 1:"
    [native, library] = (
        run("encode", "-t", trained / "tokenizer.json", "--engine", engine, "--json", text).good().json
        for engine in ("native", "library")
    )
    assert native["kernel"] == current_kernel().name
    assert library["kernel"].startswith("tokenizers ")
    assert native["ids"] == library["ids"] == tokbench.load(trained).encode(text)


@pytest.mark.parametrize("command", ["encode", "viz"])
def test_dropout_on_a_library_names_the_engine(run, trained, command):
    arguments = (command, "-t", trained / "tokenizer.json", "--dropout", "0.5", "hello")
    run(*arguments, "--engine", "native").good()
    run(*arguments, "--engine", "library").refused(2, "it runs on tokenizers 0.", "--engine native says")


def test_json_has_ids_pieces_and_byte_spans(run, trained):
    text = "naïve 👩‍👧 café\r\n"
    data = run("encode", "-t", trained, "--json", "--text", text).good().json
    assert list(data) == KEYS
    assert (data["schema"], data["name"], data["backend"]) == ("tokbench.encode/1", "mine", "bpe")
    tokenizer = tokbench.load(trained)
    assert data["ids"] == tokenizer.encode(text)
    encoded = text.encode()
    spans = data["spans"]
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans[:-1])]
    assert spans[-1][1] == len(encoded)
    assert data["tokens"] == [encoded[start:stop].decode(errors="replace") for start, stop in spans]
    assert all(one[1] == other[0] for one, other in pairwise(spans))


def test_each_text_is_one_line_of_ids(run, trained, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("alpha", encoding="utf-8")
    (tmp_path / "folder" / "b.txt").write_text("beta", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"text": "gamma"}\n{"text": "delta"}\n', encoding="utf-8")
    tokenizer = tokbench.load(trained)
    arguments = ["a text", "folder", "-", "c.jsonl", "folder/*a.txt"]
    texts = ["a text", "alpha", "beta", "from stdin", "gamma", "delta", "alpha"]
    sources = ["a text", "folder/a.txt", "folder/b.txt", "<stdin>", "c.jsonl:1", "c.jsonl:2", "folder/a.txt"]
    done = run("encode", "-t", trained, *arguments, stdin=b"from stdin").good()
    assert [[*map(int, line.split())] for line in done.lines] == [*map(tokenizer.encode, texts)]
    documents = run("encode", "-t", trained, "--json", *arguments, stdin=b"from stdin").good().documents
    assert [document["source"] for document in documents] == sources
    assert [document["ids"] for document in documents] == [*map(tokenizer.encode, texts)]


def test_text_and_file_options_decide_what_an_argument_is(run, trained, tmp_path):
    (tmp_path / "word").write_text("contents", encoding="utf-8")
    tokenizer = tokbench.load(trained)

    def ids(*arguments, stdin=b""):
        return [*map(int, run("encode", "-t", trained, *arguments, stdin=stdin).good().stdout.split())]

    assert ids("word") == ids("--file", "word") == tokenizer.encode("contents")
    assert ids("--text", "word") == tokenizer.encode("word")
    assert ids("--text", "-", stdin=b"unread") == tokenizer.encode("-")
    assert ids("--text", "a/b.txt") == tokenizer.encode("a/b.txt")
    assert ids("What? [x] 3.14 e.g.") == tokenizer.encode("What? [x] 3.14 e.g.")
    run("encode", "--text", "--file", "word").refused(2, "'--text' / '--file'", "more than once")
    run("encode", "--file", "no such").refused(1, "no such does not exist")


@pytest.mark.parametrize("argument", ["notes.txt", "docs/notes", "*.md", "docs/**/*.md", "note?.txt"])
def test_missing_path_is_refused_instead_of_encoded(run, argument):
    run("encode", argument).refused(1, argument, "--text treats it as text")


def test_missing_file_suggests_a_similar_name(run, tmp_path):
    (tmp_path / "notes.txt").write_text("text", encoding="utf-8")
    run("encode", "note.txt").refused(1, "note.txt does not exist", "did you mean notes.txt?")


def test_decode_of_a_path_suggests_the_right_command(run, tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "ids.txt").write_text("1 2", encoding="utf-8")
    run("decode", "shards").refused(1, "'shards'", "`tokbench shards read shards` decodes a folder of shards")
    run("decode", "ids.txt").refused(1, "'ids.txt'", "tokbench decode - < ids.txt")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["verify", "ids"], "shards verify"), (["encode", "--out", "ids", "text"], "tokbench shards write")],
)
def test_shard_commands_and_options_are_suggested(run, arguments, meant):
    run(*arguments).refused(2, f"Did you mean '{meant}'?")


def test_special_policy_is_applied(run, trained, special_ids):
    text = "a<|endoftext|>b<|pad|>"
    ids = {
        policy: run("encode", "-t", trained, "--special-policy", policy, text).good().stdout.split()
        for policy in ("text", "encode")
    }
    wanted = {str(id) for id in special_ids.values()}
    assert not wanted & set(ids["text"])
    assert [id for id in ids["encode"] if id in wanted] == [*map(str, special_ids.values())]
    assert run("encode", "-t", trained, text).good().stdout.split() == ids["text"]
    for given in ids.values():
        assert run("decode", "-t", trained, *given).good().stdout == text
    refused = run("encode", "-t", trained, "--special-policy", "raise", text)
    refused.refused(1, "'<|endoftext|>' at bytes 1-14", "--special-policy text", "--special-policy encode")
    assert run("encode", "-t", trained, "--special-policy", "raise", "plain").good().out


@pytest.mark.parametrize("command", ["encode", "count", "viz", "explain"])
def test_refused_special_token_is_named_with_file_and_line(run, trained, tmp_path, command):
    text, records = tmp_path / "notes.txt", tmp_path / "notes.jsonl"
    text.write_text("first\n\u00e9 <|endoftext|> after\n")
    records.write_text('\n{"text": "a <|endoftext|>"}\n')
    command = (command, "-t", trained, "--special-policy", "raise")
    run(*command, text).refused(1, f"{text}, line 2: the text contains", "bytes 9-22")
    run(*command, records).refused(1, f"{records}:2: the text contains", "bytes 2-15")
    assert run(*command, "a <|endoftext|>").refused(1).stderr.startswith("error: the text contains")


def test_invalid_utf8_is_refused_or_replaced(run, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    run("encode", "bad.txt").refused(1, "bad.txt: not UTF-8 at byte 3 (0xE9)", "--errors replace")
    done = run("encode", "bad.txt", "--errors", "replace").good()
    assert run("decode", "-", stdin=done.out).good().stdout == "caf\ufffd"
    assert done.stderr == "note: 1 byte that is not UTF-8 was replaced by U+FFFD\n"


def test_argument_that_is_not_utf8_is_refused(process):
    process("encode", b"caf\xe9").refused(1, "is not UTF-8", "put it into a file")


def test_another_text_field_can_be_named(run, trained, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "here"}\n', encoding="utf-8")
    run("encode", "a.jsonl").refused(1, "a.jsonl:1", "no field 'text'", "--text-field")
    ids = run("encode", "-t", trained, "a.jsonl", "--text-field", "body").good().stdout
    assert [*map(int, ids.split())] == tokbench.load(trained).encode("here")


def test_standard_input_is_read_only_once(run):
    run("encode", "-", "-", stdin=b"text").refused(1, "standard input can be read only once")


# --- decode -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["72", "105", "33"],
        ["72 105", "33"],
        ["72,105,33"],
        ["[72, 105, 33]"],
        ['{"ids": [72, 105, 33]}'],
        ['{"ids": [72]}\n{"ids": [105, 33]}'],
        ["-"],
    ],
)
def test_ids_are_parsed_in_many_forms(run, arguments):
    assert run("decode", *arguments, stdin=b" 72\n105\t33\n").good().out == b"Hi!"


def test_indented_json_is_decoded(run):
    data = run("encode", "Hi!", "--json").good().json
    assert run("decode", "-", stdin=json.dumps(data, indent=2).encode()).good().out == b"Hi!"


def test_decode_writes_json(run, trained):
    data = run("decode", "-t", trained, "--json", "72", "105", "195").good().json
    assert list(data) == [
        *["schema", "name", "backend", "vocab_size", "kernel"],
        *["tokens", "bytes", "text", "stop_id"],
    ]
    assert (data["schema"], data["tokens"], data["bytes"]) == ("tokbench.decode/1", 3, 3)
    assert data["text"] == "Hi\ufffd"


@pytest.mark.parametrize("id", ["1024", "4294967296", "99999999999999999999"])
def test_unknown_id_is_refused_with_its_position(run, trained, id):
    refused = run("decode", "-t", trained, "72", "105", id)
    refused.refused(1, f"id {id} at position 2", "vocabulary of 1,024 tokens", "ids run from 0 to 1023")
    run("decode", "-t", trained, "-", stdin=f"72 {id}".encode()).refused(1, f"id {id} at position 1")


def test_negative_ids_are_refused(run, trained):
    run("decode", "-t", trained, "--", "-1").refused(1, "id -1 at position 0")
    run("decode", "-t", trained, "-1").refused(2, "-1")
    run("decode", "-t", trained, "-", stdin=b"72 -1").refused(1, "id -1 at position 1")


@pytest.mark.parametrize("word", ["abc", "1.5", "0x48", "1_0", "+7", "٣", "--1", "9" * 5000])
def test_word_that_is_no_id_is_refused(run, word):
    run("decode", "-", stdin=f"72 {word}".encode()).refused(1, word[:40], "at position 1", "is not an id")
    run("decode", "72", "73", f" {word}").refused(1, "at position 2")


@pytest.mark.parametrize(
    "document", ['{"a": 1}', '{"ids": [1.5]}', '{"ids": [true]}', '{"ids": "72"}', '{"ids": null}']
)
def test_json_without_ids_is_refused(run, document):
    run("decode", document).refused(1, "no list `ids` of whole numbers", "tokbench encode --json")


def test_malformed_json_is_refused(run):
    run("decode", "-", stdin=b'{"ids": [1,').refused(1, "not JSON", "tokbench encode --json")
    run("decode", "-", stdin=b"\xff\xfe").refused(1, "<stdin>: not UTF-8 at byte 0", "decode reads ids")


def test_incomplete_character_is_replaced_or_refused(run):
    ids = ["97", "195", "98"]
    assert run("decode", *ids).good().stdout == "a\ufffdb"
    assert run("decode", *ids, "--errors", "replace").good().stdout == "a\ufffdb"
    strict = run("decode", *ids, "--errors", "strict")
    strict.refused(1, "do not decode to whole characters", "byte 1 (0xC3)", "--errors replace")
    run("decode", *ids, "--errors", "strict", "--json").refused(1, "byte 1 (0xC3)")
    assert run("decode", "97", "195", "164", "--errors", "strict").good().stdout == "aä"


def test_newline_is_added_on_a_terminal_only(process, terminal):
    assert process("decode", "72", "105").good().out == b"Hi"
    assert terminal("decode", "72", "105").out == b"Hi\r\n"
    assert terminal("decode", "72", "10").out == b"H\r\n"


def test_ids_of_another_tokenizer_are_refused_with_a_hint(run, trained):
    ids = run("encode", "the quick brown fox", "--json").good().json["ids"]
    assert max(ids) > 1023
    run("decode", "-t", trained, "-", stdin=" ".join(map(str, ids)).encode()).refused(
        1, "were they made by another tokenizer?"
    )


def test_several_tokenizers_have_a_line_each_for_each_text(run, trained):
    done = run("encode", "-t", trained, "-t", "default", "a text", "another").good()
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [name for name, _ in rows] == ["mine", "default"] * 2
    for name, (first, second) in (("mine", rows[::2]), ("default", rows[1::2])):
        tokenizer = trained if name == "mine" else name
        alone = run("encode", "-t", tokenizer, "a text", "another").good().stdout.splitlines()
        assert [first[1], second[1]] == alone
    documents = run("encode", "--json", "-t", trained, "-t", "default", "a text").good().documents
    assert [document["name"] for document in documents] == ["mine", "default"]
    assert [" ".join(map(str, document["ids"])) for document in documents] == [rows[0][1], rows[1][1]]


def test_several_text_fields_are_joined_and_recorded_in_shards(run, trained, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": "one", "b": "two"}\n{"b": "three"}\n', encoding="utf-8")
    fields = ["--text-field", "a", "--text-field", "b"]
    expected = run("encode", "--text", "-t", trained, "one\n\ntwo", "three").good().stdout
    assert run("encode", "a.jsonl", "-t", trained, *fields).good().stdout == expected
    run("shards", "write", "a.jsonl", "-t", trained, *fields, "--out", "shards").good()
    assert run("shards", "read", "shards", "-t", trained, "--json").documents == [
        {"text": "one\n\ntwo"},
        {"text": "three"},
    ]
    assert "good" in run("shards", "verify", "shards", "a.jsonl", "-t", trained).good().stdout


def test_skipped_damaged_file_is_reported(run, tmp_path):
    run("train", "--vocab-size", "300", "--name", "mine", "--json").good()
    ranks = tmp_path / "tokenizers" / "mine" / "ranks.tiktoken"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "ranks.tiktoken").write_bytes(ranks.read_bytes())
    (tmp_path / "folder" / "tokenizer.json").write_text('{"model":')
    done = run("encode", "-t", "folder", "--pattern", "gpt4", "hi").good()
    assert done.stderr.startswith("note: damaged and skipped: ")
    assert "tokenizer.json" in done.stderr


def test_decoding_stops_at_a_stop_token(run, trained, special_ids):
    tokenizer = tokbench.load(trained)
    pad, end = special_ids["<|pad|>"], special_ids["<|endoftext|>"]
    ids = [*tokenizer.encode("one"), pad, *tokenizer.encode(" twö"), end, *tokenizer.encode("three")]
    text = " ".join(map(str, ids))
    assert run("decode", text, "-t", trained).good().stdout == "one<|pad|> twö<|endoftext|>three"
    for given in ((text,), ("-",)):
        decode = partial(run, "decode", *given, "-t", trained, stdin=text.encode())
        assert decode("--stop", str(end)).good().stdout == "one<|pad|> twö"
        assert decode("--stop", str(end), "--skip-special").good().stdout == "one twö"
        assert decode("--skip-special").good().stdout == "one twöthree"
        decode("--stop", "ends").refused(2, "there is no role 'ends'", "turn_end")
        decode("--stop", "cls").refused(2, "no token with the role cls", "hint:  give its id")
    document = run("decode", text, "-t", trained, "--stop", str(end), "--stop", str(pad), "--json").json
    assert (document["text"], document["stop_id"], document["tokens"]) == (
        "one",
        pad,
        len(tokenizer.encode("one")),
    )
    assert run("decode", text, "-t", trained, "--json").json["stop_id"] is None


def test_missing_template_is_reported(run):
    done = run("encode", "--template", "hello world").good()
    assert "default has no template: no special tokens are added" in done.stderr
    assert done.out == run("encode", "hello world").good().out
