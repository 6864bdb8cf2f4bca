"""A vocabulary with its merges: two files without a split pattern or the meaning of their pieces.

They are read as what stands beside them says, or as their merges are known to be; else the user has to choose.
Nothing is read in a way that the pieces contradict.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tokbench.core.wording import counted
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.untrusted import decode_text
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.known_ranks import likely_pattern
from tokbench.opening.merges_txt import (
    END_OF_WORD,
    against_byte_level,
    missing_bytes,
    parse_clip_list,
    parse_merges,
    superwords,
)
from tokbench.opening.native_bpe import check_bpe, merge_pairs
from tokbench.opening.patterns import checked_pattern
from tokbench.opening.request import OpenRequest
from tokbench.opening.tokenizer_classes import (
    class_of_merges,
    class_tokenizer_json,
    known_class,
    names_with_suffix,
    read_declared,
    refuse_rules,
)
from tokbench.opening.tokenizer_json import check_vocabulary, open_tokenizer_json
from tokbench.opening.vocab_txt import SPECIAL_LOOK, byte_level_tokenizer_json, dumped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened
    from tokbench.opening.tokenizer_classes import Declared, TokenizerClass


def open_vocab_and_merges(source: Source, request: OpenRequest) -> Opened:
    """The tokenizer of a vocabulary with its merges.

    Raises:
        ModelFormatError: a line or a token that is none, a merge of what is not a piece, or pieces that contradict
            the only way in which they could be read.
        ConfigError: nothing says how text is split; or an option that does not belong to it.
    """
    merges_path = source.files[-1]
    vocab, merges = _vocab_and_merges(source)
    if not request.pattern and (document := _document_beside(vocab, merges, merges_path.parent)) is not None:
        return open_tokenizer_json(document, source=source, request=request)
    declared = read_declared(merges_path.parent, source.config)
    refuse_rules(declared.class_name, path=merges_path)
    its_class = None if request.pattern else known_class(declared.class_name) or class_of_merges(merges)
    warnings = _check_reading(vocab, merges, its_class, request=request, declared=declared, path=merges_path)
    specials = _special_tokens(vocab, merges, request, config=source.config)
    if its_class is not None:
        made = class_tokenizer_json(its_class, vocab, merges, declared=declared, specials=specials)
    else:
        assert request.pattern is not None
        pattern = checked_pattern(request.pattern)
        made = byte_level_tokenizer_json(
            vocab, merges, specials=specials, patterns=[pattern], normalize_nfc=pattern == "qwen2"
        )
    source = dataclasses.replace(source, files=source.files[::-1])  # errors are about merges
    return open_tokenizer_json(dumped(made), source=source, request=_bare(request), warnings=warnings)


def _vocab_and_merges(source: Source) -> tuple[dict[str, int], list[list[str]]]:
    *vocab_paths, merges_path = source.files
    lines = decode_text(read_file(merges_path), path=merges_path)
    if not vocab_paths:
        return parse_clip_list(lines, path=merges_path)
    vocab = parse_json(read_file(vocab_paths[0]), path=vocab_paths[0])
    check_vocabulary(vocab, path=vocab_paths[0])
    return vocab, parse_merges(lines, path=merges_path)


def _document_beside(vocab: Mapping[str, int], merges: Sequence[Sequence[str]], folder: Path) -> bytes | None:
    """The `tokenizer.json` of the same vocabulary and merges, which says all that they do not."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        data = read_file(path)
        model = parse_json(data, path=path).get("model")
        if not isinstance(model, dict) or model.get("vocab") != vocab:
            return None
        is_same = merge_pairs(model, path=path) == [(left, right) for left, right in merges]
    except ModelFormatError:  # a damaged one says nothing
        return None
    return data if is_same else None


def _check_reading(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    its_class: TokenizerClass | None,
    *,
    request: OpenRequest,
    declared: Declared,
    path: Path,
) -> tuple[str, ...]:
    """Refuse files whose pieces contradict the way they would be read, or that leave it open.

    Returns:
        What is odd, though it is taken.

    Raises:
        ModelFormatError: merges that do not belong to the vocabulary, or to such a reading of it.
        ConfigError: how text is split is neither said nor given.
    """
    suffix = its_class.suffix if its_class else ""
    against = against_byte_level(vocab, [] if suffix else merges)
    if against is not None:
        raise ModelFormatError(
            path, "merges of bytes, as GPT-2 has them", against, hint=_classes_hint(against)
        )
    check_bpe({"vocab": vocab, "merges": merges}, path=path)
    if suffix and not any(part.endswith(suffix) for pair in merges for part in pair):
        raise ModelFormatError(
            path, f"pieces with {suffix} at the end of words, as a {declared.class_name} has", "none"
        )
    if not merges and any(len(piece) > 1 and not SPECIAL_LOOK.fullmatch(piece) for piece in vocab):
        raise ModelFormatError(path, "merges", "none, where the vocabulary has pieces of several bytes")
    across = [] if suffix else superwords(merges)
    if its_class is None and request.pattern is None:
        raise _no_pattern(path, vocab, across)
    warnings = []
    if across and request.pattern != "none":
        warnings.append(
            f"pieces of several words are made by {counted(len(across), 'merge')}, as {across[0]!r}: is text cut there?"
        )
    if missing := 0 if suffix else missing_bytes(vocab):
        warnings.append(f"{missing} of the 256 bytes have no piece: a text loses them")
    return tuple(warnings)


def _classes_hint(against: str) -> str:
    if END_OF_WORD in against:
        first, *others = names_with_suffix()
        return (
            "name the model's tokenizer.json, or say which class of transformers reads it in a tokenizer_config.json "
            f'beside it: {{"tokenizer_class": "{first}"}}, or {", ".join(others)}'
        )
    return "name the model's tokenizer.json, or its .model file: these two files do not say how it reads text"


def _no_pattern(path: Path, vocab: Mapping[str, int], across: Sequence[str]) -> ConfigError:
    if across:
        hint = (
            f"merges cross spaces, as in {across[0]!r}, so none of the named patterns fits: name the "
            f"tokenizer.json, or give its regular expression as --pattern"
        )
    else:
        likely = likely_pattern(len(vocab))
        hint = (
            f"{len(vocab):,} pieces are usual with --pattern {likely}"
            if likely
            else "--pattern takes a name (gpt2, gpt4, gpt4o, llama3, qwen2) or a regular expression"
        ) + "; so does a tokenizer_config.json beside it that names the tokenizer_class"
    return ConfigError(f"{path} does not define how to split text, nor does a file beside it", hint=hint)


def _special_tokens(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    request: OpenRequest,
    *,
    config: TokenizerConfig,
) -> dict[str, int]:
    """Those the user names; without any, tokens that look like one and that no merge makes."""
    wanted = request.asked_tokens(num_tokens=len(vocab), known={})
    if not wanted and config.special_texts:
        return {}  # they come from the files beside the vocabulary
    if not wanted:
        made = {"".join(pair) for pair in merges}
        return {text: id for text, id in vocab.items() if text not in made and SPECIAL_LOOK.fullmatch(text)}
    next_id = max(vocab.values()) + 1
    specials: dict[str, int] = {}
    for text, asked in wanted.items():
        has = vocab.get(text, next_id)
        if asked not in (None, has):
            raise ConfigError(
                f"the special token {text!r} cannot have the id {asked}",
                hint=f"beside a vocabulary with merges it has the id {has}",
            )
        specials[text] = has
        next_id += text not in vocab
    return specials


def _bare(request: OpenRequest) -> OpenRequest:
    """What is left to ask for once pattern and special tokens are in the document."""
    return OpenRequest(engine=request.engine)
