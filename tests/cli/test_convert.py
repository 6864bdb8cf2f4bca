"""`tokbench convert`: the files that it writes, its messages, and how it ends when something is wrong."""

from __future__ import annotations

import json
import shlex
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
import tokbench.workbench.convert as conversion
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.convert.conversion import TARGETS, Product, Source, Target
from tokbench.convert.proof import Disagreement, ProofResult, peer_of, prove
from tokbench.render.console import make_console
from tokbench.render.conversion import render_proof

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SPELLED = {name: resolve_pattern(name).oniguruma for name in ("gpt4", "qwen2")}


@pytest.fixture
def ranks(trained: Path, tmp_path: Path) -> Path:
    """Write the rank file of the trained tokenizer with one pair of ranks swapped."""
    lines = (trained / "ranks.tiktoken").read_bytes().splitlines()
    (one, first), (other, second) = lines[256].split(), lines[300].split()
    lines[256], lines[300] = b"%s %s" % (other, first), b"%s %s" % (one, second)
    path = tmp_path / "swapped.tiktoken"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


class Differing(Target):
    """A format whose library gives each byte its own id, unlike a source that merges."""

    def make(self, source: Source) -> Product:
        def open(path: Path) -> Any:
            other = tokbench.train([""], backend="byte")
            return peer_of(other, name="other library")

        return Product(files={"": b"data"}, open=open)


@pytest.fixture
def differing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a format that the proof finds to be wrong."""
    monkeypatch.setitem(TARGETS, "differing", Differing("differing", "wrong", ""))


# --- conversions ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["tiktoken", "tokbin", "tokenizers", "token_bytes"])
def test_written_file_and_proof_are_reported(
    run: Callable[..., Any], trained: Path, tmp_path: Path, target: str
) -> None:
    done = run("convert", "-t", trained, "--to", target, "--out", "made").good()
    size = (tmp_path / "made").stat().st_size
    assert f"written made {size:,} bytes" in [" ".join(line.split()) for line in done.lines]
    assert any(line.startswith("proved") and "gives the same" in line for line in done.lines)
    assert list(tmp_path.iterdir()) == [tmp_path / "made"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "--to and --out are required"),
        (["--to", "tokbin"], "--out is required"),
        (["--out", "made"], "--to is required"),
    ],
)
def test_missing_options_are_named(run: Callable[..., Any], given: list[str], message: str) -> None:
    run("convert", *given).refused(2, f"error: {message}", "--to FORMAT --out PATH")


@pytest.mark.usefixtures("full_proofs")
def test_json_has_every_field(run: Callable[..., Any], trained: Path, tmp_path: Path) -> None:
    document = run("convert", "-t", trained, "--to", "tokbin", "--out", "mine.tokbin", "--json").good().json
    assert document["schema"] == "tokbench.convert/1"
    assert (document["name"], document["backend"], document["vocab_size"]) == ("mine", "bpe", 1024)
    assert (document["to"], document["out"]) == ("tokbin", "mine.tokbin")
    assert document["files"] == {"mine.tokbin": (tmp_path / "mine.tokbin").stat().st_size}
    assert document["proof"]["agrees"] is True
    assert document["proof"]["vocabulary_tokens"] == 1024
    assert document["proof"]["texts"] > 4000
    assert document["proof"]["disagreement"] is None
    assert document["notes"] == []


def test_converted_file_opens_in_every_command(
    run: Callable[..., Any], trained: Path, tmp_path: Path
) -> None:
    run("convert", "-t", trained, "--to", "tokbin", "--out", "vocabulary.bin").good()
    ids = run("encode", "-t", trained, "some text").good().stdout
    assert run("encode", "-t", "vocabulary.bin", "some text").good().stdout == ids
    assert run("decode", "-t", "vocabulary.bin", *ids.split()).good().stdout.strip() == "some text"
    document = run("inspect", "-t", "vocabulary.bin", "--json").good().json
    assert (document["format"], document["model"], document["merges"]) == ("tokbin", "byte-level BPE", 766)
    assert document["pattern"]["name"] == "gpt4"
    assert document["special_tokens"] == {"<|endoftext|>": 1022, "<|pad|>": 1023}
    damaged = bytearray((tmp_path / "vocabulary.bin").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "vocabulary.bin").write_bytes(damaged)
    run("encode", "-t", "vocabulary.bin", "some text").refused(1, "vocabulary.bin", "checksum")


@pytest.mark.slow
def test_roles_and_chat_template_are_written(
    run: Callable[..., Any], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(conversion, "prove", partial(prove, texts=["a text", "<|endoftext|>"]))
    (tmp_path / "chat.jinja").write_text("{{ messages }}\n")
    arguments = ["convert", "-t", trained, "--to", "transformers", "--out", "folder"]
    done = run(
        *arguments, "--role", "eos=<|endoftext|>", "--role", "pad=<|pad|>", "--chat-template", "chat.jinja"
    )
    assert "split_special_tokens=True" in done.good().stdout.replace("\n", " ")
    config = json.loads((tmp_path / "folder" / "tokenizer_config.json").read_bytes())
    assert (config["eos_token"], config["pad_token"]) == ("<|endoftext|>", "<|pad|>")
    assert (tmp_path / "folder" / "chat_template.jinja").read_text() == "{{ messages }}\n"
    run(*arguments).refused(1, "folder exists", "--force replaces it")
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    run(*arguments, "--force").refused(1, "'notes.txt', which would not be written")


def test_positional_tokenizer_is_refused_with_a_hint(run: Callable[..., Any], trained: Path) -> None:
    """-t has a default, which would be converted in place of the named tokenizer."""
    done = run("convert", trained, "--to", "tokenizers", "--out", "made.json")
    done.refused(2, "is an unexpected argument", f"-t {trained} converts it")


# --- refusals ---------------------------------------------------------------------------------


def test_unknown_format_is_refused_before_the_tokenizer_is_opened(run: Callable[..., Any]) -> None:
    run("convert", "-t", "nothing", "--to", "gguf", "--out", "x").refused(
        2, "no format 'gguf'", "llama.cpp's"
    )


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["--to", "sentencepiece", "--out", "x"], (1, "cannot be exact", "has no split pattern")),
        (["--to", "tiktokn", "--out", "x"], (2, "no format 'tiktokn'", "did you mean 'tiktoken'?")),
        (["--to", "tokbin"], (2, "tokbench convert -t NAME --to FORMAT --out PATH")),
        (["--out", "x"], (2, "tokbench convert -t NAME --to FORMAT --out PATH")),
        (["one", "two", "--to", "tokbin", "--out", "x"], (2, "-t one converts it")),
        (["--to", "tokbin", "--out", "x", "--role", "eos=<|pad|>"], (2, "has neither roles nor")),
        (["--to", "transformers", "--out", "x", "--role", "eos"], (2, "--role 'eos'")),
        (["--to", "transformers", "--out", "x", "--chat-template", "no.jinja"], (2, "cannot be read")),
        (["--to", "tokbin", "--out", "x", "--pattern", "gpt2"], (2, "already defines what --pattern")),
        (["--check", "one"], (2, "tokbench convert --check A B")),
        (
            ["--check", "one", "two", "--to", "tokbin"],
            (2, "--to cannot be used with --check", "leave out --to"),
        ),
        (["--check", "one", "two", "--role", "eos=x"], (2, "--role cannot be used with --check")),
        (
            ["--check", "one", "two", "--special-as-text"],
            (2, "--special-as-text cannot be used with --check"),
        ),
        (["--check", "one", "two", "--force"], (2, "--force cannot be used with --check")),
        (["--check", "nothing", "there"], (1, "no tokenizer 'nothing'")),
    ],
)
def test_impossible_conversion_is_refused_and_writes_nothing(
    run: Callable[..., Any], trained: Path, tmp_path: Path, arguments: list[str], refusal: tuple[int, str]
) -> None:
    run("convert", "-t", trained, *arguments).refused(*refusal)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("differing")
def test_failed_proof_shows_the_smallest_text_and_writes_nothing(
    run: Callable[..., Any], trained: Path, tmp_path: Path
) -> None:
    done = run("convert", "-t", trained, "--to", "differing", "--out", "made")
    assert done.code == 3
    assert "Traceback" not in done.stderr
    assert "other library gives different ids for the text" in done.stderr
    assert "nothing was written" in done.stderr
    shown = {line.split()[0] for line in done.lines if line.strip()}
    assert {"compared", "differ", "text", "mine", "other"} <= shown
    assert list(tmp_path.iterdir()) == []
    done = run("convert", "-t", trained, "--to", "differing", "--out", "made", "--json")
    assert done.code == 3
    assert (done.json["to"], done.json["out"]) == ("differing", None)
    assert done.json["proof"]["agrees"] is False
    assert len(done.json["proof"]["disagreement"]["text"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_interrupted_conversion_writes_nothing(
    run: Callable[..., Any], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "prove", interrupted)
    done = run("convert", "-t", trained, "--to", "tokbin", "--out", "made")
    assert done.code not in (0, 3)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- comparing two ----------------------------------------------------------------------------


def test_check_of_equal_tokenizers_agrees(run: Callable[..., Any], trained: Path) -> None:
    done = run("convert", "--check", trained, trained / "tokenizer.json").good()
    assert any(line.startswith("proved") for line in done.lines)
    document = run("convert", "--check", trained, trained / "tokenizer.json", "--json").good().json
    assert (document["schema"], document["to"], document["out"]) == ("tokbench.convert/1", None, None)
    assert document["proof"]["agrees"] is True
    assert (document["proof"]["first"], document["proof"]["second"]) == (
        str(trained),
        str(trained / "tokenizer.json"),
    )


def test_pattern_applies_to_the_tokenizer_that_needs_it(
    run: Callable[..., Any], trained: Path, tmp_path: Path
) -> None:
    shutil.copy(trained / "ranks.tiktoken", tmp_path / "ranks.tiktoken")
    both = ["convert", "--check", trained, "ranks.tiktoken"]
    special = ["--special-token", "<|endoftext|>", "--special-token", "<|pad|>"]
    run(*both, "--pattern", "gpt4", *special).good()
    assert run(*both, "--pattern", "gpt4").code == 3  # another tokenizer without its special tokens
    run(*both).refused(2, "does not define how to split text")
    run(*both, "--pattern", "gpt9(").refused(2, "gpt9(")
    run("convert", "--check", trained, trained, "--pattern", "gpt4").refused(
        2, "already defines what --pattern"
    )


def test_check_of_different_tokenizers_shows_the_smallest_text(
    run: Callable[..., Any], trained: Path, ranks: Path
) -> None:
    special = ["--special-token", "<|endoftext|>", "--special-token", "<|pad|>"]
    done = run("convert", "--check", trained, ranks, "--pattern", "gpt4", *special)
    assert (done.code, done.stderr) == (3, "")
    assert any(line.startswith("differ") and "the ids differ" in line for line in done.lines)
    done = run("convert", "--check", trained, ranks, "--pattern", "gpt4", *special, "--json")
    disagreement = done.json["proof"]["disagreement"]
    assert len(disagreement["text"]) <= 4
    for side in ("expected_bytes", "found_bytes"):  # each side in the pieces of its own vocabulary
        assert b"".join(map(bytes.fromhex, disagreement[side])) == disagreement["text"].encode()


def test_long_results_are_abbreviated_around_the_difference() -> None:
    same, pieces = (1,) * 500, (b"a",) * 500
    disagreement = Disagreement(
        "encode", "a" * 1000, (*same, 2), (*same, 3, 4), (*pieces, b"a"), (*pieces, b"b", b"c")
    )
    proof = ProofResult("one", "other", 0, 1, 1000, 500, 0, (), disagreement)
    console = make_console(color="never")
    with console.capture() as captured:
        render_proof(proof, console=console)
    shown = captured.get()
    assert "(1,000 characters)" in shown
    assert "496 alike, then  a 1  a 1  a 1  a 1  b 3  c 4" in shown


@pytest.mark.parametrize("pattern", ["gpt4", "qwen2", r"\w+|'? [^\w]+|\W"])
def test_rank_file_opens_again_with_the_printed_options(
    run: Callable[..., Any], tmp_path: Path, pattern: str
) -> None:
    special = "<|it's a|>"
    tokenizer = tokbench.train(["e\u0301 low lower lowest"], vocab_size=262, special_tokens=[special])
    tokenizer.save(tmp_path / "mine")
    run("convert", "-t", "mine", "--to", "tokenizers", "--out", "tokenizer.json").good()
    document = json.loads((tmp_path / "tokenizer.json").read_bytes())
    document["normalizer"] = None
    document["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": _SPELLED.get(pattern, pattern)}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    done = run(
        "convert", "-t", "tokenizer.json", "--to", "tiktoken", "--out", "made.tiktoken", "--json"
    ).good()
    note = next(note for note in json.loads(done.stdout)["notes"] if "tokbench needs the options" in note)
    text = f"lower e\u0301, 12345\n {special} 's"
    given = ("--special-policy", "encode", text)
    again = run("encode", "-t", "made.tiktoken", *shlex.split(note.partition("\n")[2]), *given).good()
    assert again.stdout == run("encode", "-t", "tokenizer.json", *given).good().stdout
