"""`tokbench inspect`, and the options with which every command opens tokenizers made elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, model_folders, sentencepiece_models, small_files
from typer.testing import CliRunner

from tokbench import train
from tokbench.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = [*(bytes([byte]) for byte in range(256)), b"lo", b"low"]


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % rank for rank, t in enumerate(TOKENS)))
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "80"})


def inspected(*arguments: object) -> dict[str, Any]:
    done = run("inspect", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_json_has_every_field(ranks: Path) -> None:
    document = inspected("-t", ranks, "--pattern", "gpt4o", "--special-token", "<|eot|>=300")
    assert document["schema"] == "tokbench.inspect/1"
    assert document["format"] == "tiktoken ranks"
    assert document["files"] == [
        {
            "path": str(ranks),
            "bytes": ranks.stat().st_size,
            "sha256": hashlib.sha256(ranks.read_bytes()).hexdigest(),
        }
    ]
    assert (document["vocab_size"], document["tokens"], document["merges"]) == (301, 259, None)
    assert document["byte_level"] is document["lossless"] is True
    assert document["pattern"]["name"] == "gpt4o"
    assert document["special_tokens"] == {"<|eot|>": 300}
    assert document["engine"] == "native"
    assert "scanners know" in document["engine_reason"]
    assert document["warnings"] == []


def test_each_alternative_of_the_pattern_has_a_line(ranks: Path) -> None:
    """Each alternative can be copied: a pattern in one piece would lose spaces where its lines are folded."""
    shown = run("inspect", "-t", ranks, "--pattern", "gpt2").stdout
    lines = [line.strip() for line in shown.partition("gpt2\n")[2].splitlines()][:7]
    assert lines[:4] == [
        r"1  '(?:[sdmt]|ll|ve|re)",
        r"2   ?\p{L}++",
        r"3   ?\p{N}++",
        r"4   ?[^\s\p{L}\p{N}]++",
    ]
    assert lines[4:] == [r"5  \s++$", r"6  \s+(?!\S)", r"7  \s"]


def test_long_alternative_begins_beside_its_number(ranks: Path) -> None:
    """Lines of an alternative are filled, so that they joined are the alternative, spaces included."""
    long = r"[a-z]{1,9} ?" * 7
    shown = run("inspect", "-t", ranks, "--pattern", rf"{long}|\s+|[^\s]").stdout
    lines = [line[12:] for line in shown.partition("custom\n")[2].splitlines()]
    assert max(map(len, lines)) == 80 - 12
    assert lines[0].startswith("1  [a-z]")
    assert lines[1].startswith("   ")
    assert "".join(line[3:] for line in lines[:2]) == long
    assert lines[2:4] == [r"2  \s+", r"3  [^\s]"]


def test_engine_can_be_requested(ranks: Path) -> None:
    document = inspected(ranks, "--pattern", "gpt4", "--engine", "library")
    assert document["engine"] == "library"
    assert document["kernel"].startswith("tiktoken ")
    done = run("inspect", ranks, "--pattern", r"(?:lo)+|\w|\W+", "--engine", "native")
    assert done.exit_code == 2
    assert (
        "cannot run this tokenizer: the native kernel does not run its split pattern: its repetition"
        in done.stderr
    )


def test_sheet_fits_eighty_columns(ranks: Path) -> None:
    done = run("inspect", ranks, "--pattern", "gpt4o", "--special-token", "<|end|>")
    assert done.exit_code == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in ("tiktoken ranks", "sha256", "gpt4o", "<|end|> 258", "lossless", "yes: every byte"):
        assert words in done.stdout


def test_files_of_a_saved_folder_are_summarized(tmp_path: Path) -> None:
    train(["some words"], vocab_size=260).save(tmp_path / "mine")
    sheet = run("inspect", tmp_path / "mine").stdout
    assert "tokbench.json  " in sheet
    assert "files that it lists" in sheet
    assert "merges.npy" not in sheet
    files = inspected(tmp_path / "mine")["files"]
    assert {"tokbench.json", "merges.npy"} <= {file["path"].rpartition("/")[2] for file in files}


def test_spaces_of_added_tokens_are_visible(ranks: Path) -> None:
    done = run("inspect", ranks, "--pattern", "gpt4", "--special-token", "   ", "--special-token", "<a b>")
    assert "··· 258" in done.stdout
    assert "<a·b> 259" in done.stdout


def test_many_special_tokens_are_abbreviated(ranks: Path) -> None:
    options = [part for number in range(20) for part in ("--special-token", f"<|{number:02}|>")]
    done = run("inspect", ranks, "--pattern", "gpt4", *options)
    assert "<|11|> 269" in done.stdout
    assert "and 8 more" in done.stdout


def test_unusual_ranks_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "odd.tiktoken"
    lines = [base64.b64encode(token) + b" %d\n" % (rank * 2) for rank, token in enumerate([*TOKENS, b"xyz"])]
    path.write_bytes(b"".join(lines))
    document = inspected(path, "--pattern", "gpt4")
    assert document["warnings"] == [
        '1 token is not made of two of lower rank, as "xyz"',
        "258 ids below the largest have no token",
    ]


def test_control_characters_in_a_file_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\n\x1b[31mred\n", encoding="utf-8")
    done = run("inspect", path)
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout


def test_encode_and_decode_take_the_same_options(ranks: Path) -> None:
    options = ("-t", ranks, "--pattern", "gpt4", "--special-token", "<|eot|>=300")
    assert run("encode", *options, "low low").stdout == "257 32 257\n"
    assert run("encode", *options, "--special-policy", "encode", "low<|eot|>").stdout == "257 300\n"
    assert run("decode", *options, "257", "300").stdout == "low<|eot|>"
    done = run("count", *options, "--json", "--text", "low")
    assert json.loads(done.stdout)["total"]["tokens"] == 1
    assert "low" in run("viz", *options, "low").stdout


def test_rank_file_without_a_pattern_is_refused_with_a_hint(ranks: Path) -> None:
    done = run("encode", "-t", ranks, "low")
    assert done.exit_code == 2
    assert "does not define how to split text" in done.stderr
    assert "hint:  --pattern takes a name" in done.stderr


def test_tokenizer_named_twice_is_refused(ranks: Path) -> None:
    assert run("inspect", ranks, "-t", ranks).exit_code == 2


def test_reason_for_lossy_decoding_is_reported(tmp_path: Path) -> None:
    (tmp_path / "m.model").write_bytes(sentencepiece_models.variant("bpe").description().proto)
    assert inspected(tmp_path / "m.model")["lossless_reason"] == "a ▁ in a text is decoded as a space"
    changed = small_files.document()
    changed["added_tokens"].append(
        {**changed["added_tokens"][0], "id": 260, "content": "ýý", "special": False}
    )
    document = inspected(small_files.document_file(tmp_path, changed))
    assert document["lossless"] is False
    assert document["lossless_reason"] == "the added token 'ýý' is decoded as different text"


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "model", "engine"),
    [
        ("falcon", "byte-level BPE", "native"),
        ("gguf/ggml-vocab-gpt-2.gguf", "byte-level BPE", "native"),
        ("mistral", "SentencePiece bpe, with byte fallback", "native"),
        ("t5-small", "Unigram", "native"),
        ("bert-base-uncased/vocab.txt", "WordPiece", "native"),
    ],
)
def test_real_vocabularies_are_inspected(shared: Path, name: str, model: str, engine: str) -> None:
    document = inspected(shared / "vocab" / name)
    assert (document["model"], document["engine"]) == (model, engine)
    assert document["engine_reason"]
    assert document["lossless_reason"]
    done = run("inspect", shared / "vocab" / name)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_configuration_files_are_shown(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    document = inspected(folder)
    assert document["roles"] == {
        "bos": {"token": "<|begin_of_text|>", "id": 259},
        "eos": {"token": "<|eot_id|>", "id": 263},
        "turn_end": {"token": "<|eot_id|>", "id": 263},
    }
    assert document["generation_ids"] == {"bos": [259], "eos": [260, 263]}
    template = model_folders.LLAMA3_TEMPLATE
    digest = hashlib.sha256(template.encode()).hexdigest()
    assert document["chat_templates"] == {"default": {"characters": len(template), "sha256": digest}}
    assert (document["model_max_length"], document["tokenizer_class"]) == (131072, "PreTrainedTokenizerFast")
    assert [file["path"].rpartition("/")[2] for file in document["config_files"]] == [
        *("tokenizer_config.json", "special_tokens_map.json", "generation_config.json")
    ]
    done = run("inspect", folder)
    for words in (
        *("bos <|begin_of_text|> 259", "end of turn", "260, 263"),
        *("template default", "131,072 tokens"),
    ):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_template_is_shown_as_it_is_applied(tmp_path: Path) -> None:
    """The configuration may ask for bos; only what the tokenizer.json writes is in a model's input."""
    folder = model_folders.llama3(tmp_path / "llama3")
    for name, changes in (
        ("tokenizer_config.json", {"add_bos_token": True}),
        ("tokenizer.json", {"post_processor": None}),
    ):
        document = json.loads((folder / name).read_bytes())
        (folder / name).write_text(json.dumps({**document, **changes}))
    assert inspected(folder)["template"] is None
    document = json.loads((folder / "tokenizer.json").read_bytes())
    ends = {"cls": ["<|begin_of_text|>", 259], "sep": ["<|eot_id|>", 263]}
    document["post_processor"] = {"type": "BertProcessing", **ends}
    (folder / "tokenizer.json").write_text(json.dumps(document))
    single, pair = "<|begin_of_text|> $A <|eot_id|>", "<|begin_of_text|> $A <|eot_id|> $B <|eot_id|>"
    assert inspected(folder)["template"] == {"single": single, "pair": pair}
    lines = run("inspect", folder).stdout.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("template ")] == [single]
    assert pair in [line.strip() for line in lines]


def test_invalid_configuration_files_are_reported(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    (folder / "generation_config.json").write_text('{"eos_token_id": "\\u001b[31m"}', encoding="utf-8")
    done = run("inspect", folder)
    assert done.exit_code == 0, done.stderr
    assert "eos_token_id is not an id" in done.stdout.replace("\n", " ")
    assert "\x1b" not in done.stdout


@pytest.mark.real
def test_real_configuration_files_are_shown(shared: Path) -> None:
    clip = inspected(shared / "vocab" / "clip" / "tokenizer.json")
    assert clip["roles"]["pad"] == {"token": "<|endoftext|>", "id": 49407}
    assert (clip["model_max_length"], clip["tokenizer_class"]) == (77, "CLIPTokenizer")
    assert inspected(shared / "vocab" / "phi-2")["roles"]["eos"]["id"] == 50256
    assert len(inspected(shared / "vocab" / "t5-small")["additional_special_tokens"]) == 100
    assert inspected(shared / "vocab" / "roberta-base")["model_max_length"] == 512


def test_components_are_shown_with_their_choices(tmp_path: Path) -> None:
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    digits = {"type": "Digits", "individual_digits": False}
    split = {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "MergedWithNext", "invert": False}
    steps = {"type": "Sequence", "pretokenizers": [metaspace, digits, split]}
    file = small_files.document_file(tmp_path, small_files.document(pre_tokenizer=steps))
    shown = inspected(file)["pre_tokenizer"]
    assert shown == "Metaspace (prepend_scheme=first, split) → Digits → Split (behavior=MergedWithNext)"


def test_a_class_that_builds_another_tokenizer_than_the_files_is_a_warning(tmp_path: Path) -> None:
    document = json.loads(huggingface.byte_fallback())
    files = {"tokenizer.json": document, "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer"}}
    folder = model_folders.put(tmp_path / "llama", files)
    said = "tokenizer_config.json names LlamaTokenizer, for which transformers 5 builds another normalizer"
    assert [each for each in inspected("-t", folder)["warnings"] if each.startswith(said)]
    model_folders.put(
        folder, {"config.json": {"model_type": "mistral"}}
    )  # of which the file is taken as it is
    assert not [each for each in inspected("-t", folder)["warnings"] if "builds another" in each]
    model_folders.put(
        tmp_path / "bert", {**files, "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}}
    )
    said = "tokenizer_config.json names BertTokenizer: its vocabularies are WordPiece, and tokenizer.json has BPE"
    assert [each for each in inspected("-t", tmp_path / "bert")["warnings"] if each.startswith(said)]


def test_a_class_that_makes_a_tokenizer_of_a_sentencepiece_model_is_a_warning(tmp_path: Path) -> None:
    files = {"tokenizer.model": sentencepiece_models.variant("bpe").proto}
    settings = {"tokenizer_class": "LlamaTokenizer", "legacy": False}
    folder = model_folders.put(tmp_path / "llama", {**files, "tokenizer_config.json": settings})
    made = [
        each
        for each in inspected("-t", folder)["warnings"]
        if " makes a pipeline and merges of its own" in each
    ]
    assert [each.partition(" makes")[0] for each in made] == [
        "the LlamaTokenizer of transformers 4 with legacy=false",
        "the LlamaTokenizer of transformers 5",
    ]
    assert all("`tokbench lint --select class-disagrees` looks for one" in each for each in made)
    assert not [each for each in inspected("-t", folder / "tokenizer.model")["warnings"] if "makes a" in each]


def test_special_tokens_that_only_the_class_has_are_a_warning(tmp_path: Path) -> None:
    files = {
        "tokenizer.json": huggingface.wordpiece(),
        "tokenizer_config.json": {"tokenizer_class": "MPNetTokenizer"},
    }
    [said] = [
        each for each in inspected("-t", model_folders.put(tmp_path, files))["warnings"] if "new ids" in each
    ]
    assert said.startswith(
        'of a MPNetTokenizer, the class of the folder: it has "<s>", "</s>", "<pad>", "<mask>"'
    )
