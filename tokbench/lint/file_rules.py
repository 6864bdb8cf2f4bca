"""Rules about files that contradict one another, and about other files in the tokenizer's folder."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted, quoted
from tokbench.errors import ConfigError, ModelFormatError, TokbenchError
from tokbench.files.untrusted import read_regular
from tokbench.libraries.huggingface.tokenizer_json import steps
from tokbench.lint.agreement import near_pattern
from tokbench.lint.class_pipeline import (
    BYTE_LEVEL,
    SENTENCEPIECE_BPE,
    kind_of_document,
)
from tokbench.lint.findings import Found, Severity
from tokbench.lint.llama_cpp_names import converter_hash, names_of_hash
from tokbench.lint.rules import DoesNotApplyError, document_of, rules_of
from tokbench.opening.config_files import CONFIG
from tokbench.opening.contradictions import contradictions
from tokbench.opening.gguf.pretokenizers import pre_tokenizer_named
from tokbench.opening.open import open_found
from tokbench.opening.recognition import Format
from tokbench.opening.request import OpenRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.lint.target import LintTarget

_SHOWN = 4
_REGEX_SIGNS = re.compile(r"\\[pPswdSWD]|\(\?|\[\^|\]\+|\)\+|\.\*")
_PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth", ".ckpt")
_OWN_PROGRAM = "resize_embeddings.py"

_rule = rules_of("files")


@_rule(
    name="settings-disagree",
    severity=Severity.WARNING,
    breaks="Libraries that follow tokenizer_config.json change the pipeline: the same files give different ids.",
    found="Its add_prefix_space, do_lower_case and other BERT options are compared with those of tokenizer.json.",
    remedy="Write the values of tokenizer.json if the model was trained with them, as --fix does.",
)
def _settings(target: LintTarget) -> Iterator[Found]:
    document = document_of(target)
    if target.folder is None or not (target.folder / CONFIG).is_file():
        raise DoesNotApplyError("no tokenizer_config.json is beside it")
    for found in contradictions(document, folder=target.folder):
        unset = "not set, which transformers 4 takes as " if found.is_default else ""
        yield Found(
            subject=f"{found.option} of tokenizer_config.json",
            evidence=f"it is {unset}{str(found.said).lower()}, and tokenizer.json has {str(found.its).lower()}",
            details={"option": found.option, "tokenizer_json": found.its},
        )


@_rule(
    name="vocabulary-files-disagree",
    severity=Severity.ERROR,
    breaks="A library that reads vocab.json and merges.txt gives different ids than one that reads tokenizer.json.",
    found="Ids and merges are compared, also those of files named encoder.json and vocab.bpe.",
    remedy="Find out which files the model was trained with, and regenerate the others from them.",
)
def _vocabulary_files(target: LintTarget) -> Iterator[Found]:
    model = document_of(target).get("model")
    pairs = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
    tried = False
    for vocab_name, merges_name in pairs:
        try:
            vocab, merges = target.beside(vocab_name), target.lines_beside(merges_name)
        except ModelFormatError as error:
            tried = True
            yield Found(subject=vocab_name, evidence=f"it cannot be read: {error.message}")
            continue
        if isinstance(vocab, dict) and isinstance(model, dict) and isinstance(model.get("vocab"), dict):
            tried = True
            yield from _other_ids(vocab_name, vocab, model["vocab"])
        if merges is not None and isinstance(model, dict) and isinstance(model.get("merges"), list):
            tried = True
            yield from _other_merges(merges_name, merges, model["merges"])
    if not tried:
        raise DoesNotApplyError("no vocab.json or merges.txt is beside it")


def _other_ids(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[Found]:
    moved = [piece for piece, id in there.items() if piece in here and here[piece] != id]
    if moved:
        shown = ", ".join(
            f"{quoted(piece)} {there[piece]!s:.12} there and {here[piece]!s:.12} here"
            for piece in moved[:_SHOWN]
        )
        yield Found(
            subject=name,
            evidence=f"different ids than in tokenizer.json for {counted(len(moved), 'token')}: {shown}",
        )
    missing = [piece for piece in here if piece not in there]
    if missing:
        shown = ", ".join(quoted(piece) for piece in missing[:_SHOWN])
        yield Found(
            subject=name,
            evidence=f"it lacks {counted(len(missing), 'token')} of tokenizer.json: {shown}",
            severity=Severity.WARNING,
        )


def _other_merges(name: str, lines: list[str], listed: list[Any]) -> Iterator[Found]:
    there = [line for line in lines if line.strip() and not line.startswith("#version")]
    here = [
        " ".join(merge) if isinstance(merge, list) and all(isinstance(part, str) for part in merge) else merge
        for merge in listed
    ]
    if there == here:
        return
    rank = next(
        (rank for rank, (one, other) in enumerate(zip(there, here, strict=False)) if one != other),
        min(len(there), len(here)),
    )
    shown = [quoted(str(merges[rank])) if rank < len(merges) else "no merge" for merges in (there, here)]
    yield Found(
        subject=name,
        evidence=f"merge {rank:,} is {shown[0]} there and {shown[1]} in tokenizer.json; there are {len(there):,} "
        f"and {len(here):,}",
    )


@_rule(
    name="pattern-as-string",
    severity=Severity.ERROR,
    breaks="A pattern that was saved as a literal string matches nothing, and text is not split at all.",
    found="Literal strings of normalizers, pre-tokenizers and decoders are searched for regular expressions.",
    remedy='Replace {"String": …} by {"Regex": …} if the model was trained with the expression.',
)
def _literal_pattern(target: LintTarget) -> Iterator[Found]:
    document = document_of(target)
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        for step in steps(document.get(part)):
            pattern = step.get("pattern")
            text = pattern.get("String") if isinstance(pattern, dict) else None
            if isinstance(text, str) and _REGEX_SIGNS.search(text):
                yield Found(
                    subject=f"a {step.get('type')} of the {part}",
                    evidence=f"its pattern is the literal string {quoted(text)}, which is written as a "
                    "regular expression and matches only itself",
                )


@_rule(
    name="almost-known-pattern",
    severity=Severity.NOTE,
    breaks="A pattern that was copied with a mistake splits rare texts differently than the model's own.",
    found="A pattern that shares nine tenths of its characters with a well-known one is tried on a list of texts.",
    remedy="Compare it with the pattern that the model was trained with.",
)
def _near_pattern(target: LintTarget) -> Iterator[Found]:
    pattern = _pattern_text(target)
    if pattern is None:
        raise DoesNotApplyError("it has no pattern of its own")
    try:
        near = near_pattern(pattern)
    except ConfigError as error:
        raise DoesNotApplyError(f"its pattern cannot be run alone: {error.message}") from None
    if near is not None:
        yield Found(
            subject=f"the split pattern, which is almost {near.name}",
            evidence=f"{quoted(near.text)} is split into {_list(near.here)}, and by {near.name} into "
            + _list(near.there),
            details={"name": near.name, "text": near.text, "here": near.here, "there": near.there},
        )


def _list(parts: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, parts))


def _pattern_text(target: LintTarget) -> str | None:
    """Return the only pattern that text is split by, unless it is well-known or there are several."""
    if (pattern := target.opened.composition.pattern) is not None:
        name, text = pattern
        return text if name == "custom" else None
    found = [
        step["pattern"].get("Regex")
        for step in steps((target.document or {}).get("pre_tokenizer"))
        if step.get("type") == "Split" and isinstance(step.get("pattern"), dict) and not step.get("invert")
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


@_rule(
    name="clean-up-spaces",
    severity=Severity.WARNING,
    breaks="Decoding removes spaces before punctuation and contractions, which changes code and quotes.",
    found="Reported if clean_up_tokenization_spaces is true and the vocabulary is a BPE.",
    remedy="Write clean_up_tokenization_spaces=false into tokenizer_config.json.",
)
def _clean_up(target: LintTarget) -> Iterator[Found]:
    config = target.opened.source.config
    document = document_of(target)
    if config.clean_up_tokenization_spaces is None:
        raise DoesNotApplyError("no file says clean_up_tokenization_spaces")
    if config.clean_up_tokenization_spaces and kind_of_document(document) in (BYTE_LEVEL, SENTENCEPIECE_BPE):
        yield Found(
            subject="clean_up_tokenization_spaces=true",
            evidence=f"the vocabulary is {kind_of_document(document)}, which keeps spaces: transformers 4 decodes "
            '"a ." as "a.", and version 5 ignores it',
        )


def _hash_figures(target: LintTarget) -> Mapping[str, Any]:
    found = target.derived(_hash)
    names = ", ".join(names_of_hash(found))
    return {"hash_of_llama_cpp": found, "known_as": names or "nothing: its converter refuses it"}


@_rule(
    name="gguf-pre-tokenizer",
    severity=Severity.WARNING,
    breaks="The name in the file decides how llama.cpp splits text: a wrong one gives the model different tokens.",
    found="The hash of llama.cpp's converter is computed, also for other patterns, and looked up in its list.",
    remedy="Convert again with a converter that knows the model, or set tokenizer.ggml.pre.",
    figures=_hash_figures,
)
def _gguf(target: LintTarget) -> Iterator[Found]:
    source = target.opened.source
    if source.format is not Format.GGUF:
        if target.bpe is None or source.format is not Format.TOKENIZER_JSON:
            raise DoesNotApplyError(
                "it is neither a GGUF file nor a byte-level BPE that would be converted to one"
            )
        return
    from tokbench.formats.gguf import read_metadata

    metadata = read_metadata(source.files[0], prefix="tokenizer.ggml.")
    if metadata.get("tokenizer.ggml.model") != b"gpt2":
        raise DoesNotApplyError("its vocabulary has no pre-tokenizer")
    written = metadata.get("tokenizer.ggml.pre", b"")
    name = written.decode(errors="replace") if isinstance(written, bytes) else ""
    if name in ("", "default"):
        yield Found(
            subject="tokenizer.ggml.pre",
            evidence=f"it is {name or 'missing'}: llama.cpp then splits by a rule that few models have",
            details={"name": name, "hash": target.derived(_hash)},
        )
    elif not names_of_hash(target.derived(_hash)):
        known = next(_names_by_other_patterns(target), None)
        if known is not None and pre_tokenizer_named(known) != pre_tokenizer_named(name):
            yield Found(
                subject=f"tokenizer.ggml.pre {name}",
                evidence=f"the vocabulary is that of {known}: split as {known} it has its hash",
                severity=Severity.ERROR,
                details={"name": name, "known_as": known, "hash": target.derived(_hash)},
            )


def _names_by_other_patterns(target: LintTarget) -> Iterator[str]:
    """Yield llama.cpp's names for the vocabulary if text were split by a well-known pattern instead."""
    for pattern in ("gpt2", "llama3", "qwen2", "gpt4o"):
        try:
            other = open_found(target.opened.source, OpenRequest(pattern=pattern)).tokenizer
        except TokbenchError:
            continue
        yield from names_of_hash(converter_hash(other))


def _hash(target: LintTarget) -> str:
    return converter_hash(target.tokenizer)


@_rule(
    name="program-beside",
    severity=Severity.WARNING,
    breaks="A pickle or program beside the files runs with the rights of the user who opens the folder with it.",
    found=(
        "The names of the folder's files and auto_map are read; no other file is opened, except to recognize the "
        "program that prune, extend and migrate write."
    ),
    remedy="Do not load them; ask for safetensors and a tokenizer.json.",
)
def _programs(target: LintTarget) -> Iterator[Found]:
    if not target.opened.source.path.is_dir():
        raise DoesNotApplyError("it was not opened as a folder")
    names = target.names_beside
    pickles = [name for name in names if name.lower().endswith(_PICKLES) or name == "pytorch_model.bin"]
    for name in pickles[:_SHOWN]:
        yield Found(
            subject=name,
            evidence="it is a pickle by its name: loading it runs the code in it",
            severity=None if "token" in name.lower() else Severity.NOTE,
        )
    programs = [name for name in names if name.endswith(".py") and not _is_own_program(target, name)]
    for name in programs[:_SHOWN]:
        yield Found(subject=name, evidence="it is a program, which trust_remote_code=True runs")
    for name in ("tokenizer_config.json", "config.json"):
        try:
            said = target.beside(name)
        except ModelFormatError:
            continue
        remote = said.get("auto_map") if isinstance(said, dict) else None
        if isinstance(remote, dict) and "AutoTokenizer" in remote:
            yield Found(
                subject=f"auto_map of {name}",
                evidence=f"it names {quoted(str(remote['AutoTokenizer']))} as the tokenizer, which is a program",
            )


RULES = (_settings, _vocabulary_files, _literal_pattern, _near_pattern, _clean_up, _gguf, _programs)


def _is_own_program(target: LintTarget, name: str) -> bool:
    """Whether a file is the program that tokbench writes beside a changed tokenizer, byte for byte."""
    if name != _OWN_PROGRAM or target.folder is None:
        return False
    own = (files("tokbench") / "surgery" / name).read_bytes()
    try:
        return read_regular(target.folder / name, limit=len(own)) == own
    except (OSError, ModelFormatError):
        return False
