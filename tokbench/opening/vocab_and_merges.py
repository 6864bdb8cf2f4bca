"""Open a vocabulary with its merges: two files that define neither a split pattern nor what their pieces mean.

They are read as the files beside them say, or as well-known merges imply; otherwise the user has to choose. A reading
that the pieces contradict is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.wording import counted
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.untrusted import decode_text
from tokbench.opening.class_tokens import with_class_roles
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.known_ranks import pattern_hint
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
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened
    from tokbench.opening.tokenizer_classes import Declared, TokenizerClass


_MASK_DIFFERS = {
    *(
        "BartTokenizer",
        "DebertaTokenizer",
        "LEDTokenizer",
        "LongformerTokenizer",
        "LukeTokenizer",
        "MvpTokenizer",
    ),
    "RobertaTokenizer",
}
"""Classes whose mask token takes the white space before it in transformers 4 alone, if no file sets its flags."""


def open_vocab_and_merges(source: Source, request: OpenRequest) -> Opened:
    """Open the tokenizer of a vocabulary with its merges.

    Raises:
        ModelFormatError: a line or token is invalid, a merge uses something that is not a piece, or the pieces
            contradict the only possible reading.
        ConfigError: nothing says how text is split, or an option does not apply.
    """
    merges_path = source.files[-1]
    vocab, merges = _vocab_and_merges(source)
    if not request.pattern and (document := _document_beside(vocab, merges, merges_path.parent)) is not None:
        return open_tokenizer_json(document, source=source, request=request)
    declared = read_declared(merges_path.parent, source.config)
    refuse_rules(declared.class_name, path=merges_path)
    tokenizer_class = None if request.pattern else known_class(declared.class_name) or class_of_merges(merges)
    warnings = _check_reading(
        vocab, merges, tokenizer_class, request=request, declared=declared, path=merges_path
    )
    if tokenizer_class is not None:
        warnings += tuple(_other_versions(tokenizer_class, declared))
    is_declared = tokenizer_class is not None and tokenizer_class.name == declared.class_name
    specials = _special_tokens(
        vocab, merges, request, is_defined=is_declared or bool(source.config.special_texts)
    )
    if tokenizer_class is not None and is_declared:
        config = with_class_roles(
            source.config,
            tokenizer_class.roles,
            folder=merges_path.parent,
            pieces=vocab,
            mask_strips=tokenizer_class.mask_strips,
        )
        source, declared = replace(source, config=config), replace(declared, config=config)
    if tokenizer_class is not None:
        document_of_class = class_tokenizer_json(
            tokenizer_class, vocab, merges, declared=declared, specials=specials
        )
    else:
        assert request.pattern is not None
        pattern = checked_pattern(request.pattern)
        document_of_class = byte_level_tokenizer_json(
            vocab, merges, specials=specials, patterns=[pattern], normalize_nfc=pattern == "qwen2"
        )
    source = replace(source, files=source.files[::-1])  # errors name the merges file
    rest = OpenRequest(engine=request.engine)  # the pattern and special tokens are in the document already
    return open_tokenizer_json(dumped(document_of_class), source=source, request=rest, warnings=warnings)


def _vocab_and_merges(source: Source) -> tuple[dict[str, int], list[list[str]]]:
    *vocab_paths, merges_path = source.files
    lines = decode_text(read_file(merges_path), path=merges_path)
    if not vocab_paths:
        return parse_clip_list(lines, path=merges_path)
    vocab = parse_json(read_file(vocab_paths[0]), path=vocab_paths[0])
    check_vocabulary(vocab, path=vocab_paths[0])
    return vocab, parse_merges(lines, path=merges_path)


def _document_beside(vocab: Mapping[str, int], merges: Sequence[Sequence[str]], folder: Path) -> bytes | None:
    """Return the `tokenizer.json` beside the files if it has their vocabulary and merges: it defines all else."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        data = read_file(path)
        model = parse_json(data, path=path).get("model")
        if not isinstance(model, dict) or model.get("vocab") != vocab:
            return None
        is_same = merge_pairs(model, path=path) == [(left, right) for left, right in merges]
    except ModelFormatError:  # a damaged document tells nothing
        return None
    return data if is_same else None


def _check_reading(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    tokenizer_class: TokenizerClass | None,
    *,
    request: OpenRequest,
    declared: Declared,
    path: Path,
) -> tuple[str, ...]:
    """Refuse files whose pieces contradict the way they would be read, or that do not determine one.

    Returns:
        Warnings about oddities that are accepted.

    Raises:
        ModelFormatError: the merges do not belong to the vocabulary, or to this reading of it.
        ConfigError: the split pattern is neither defined by a file nor given.
    """
    suffix = tokenizer_class.suffix if tokenizer_class else ""
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
    if tokenizer_class is None and request.pattern is None:
        raise _no_pattern(path, vocab, across, class_name=declared.class_name)
    warnings = []
    if across and request.pattern != "none":
        warnings.append(
            f"pieces of several words are made by {counted(len(across), 'merge')}, as {across[0]!r}: is text cut there?"
        )
    if (path.parent / "dict.txt").is_file():
        warnings.append(
            "dict.txt beside it gives the tokens different ids, as fairseq models have them: it is not used"
        )
    if missing := 0 if suffix else missing_bytes(vocab):
        warnings.append(f"{missing} of the 256 bytes have no piece: a text loses them")
    return tuple(warnings)


def _other_versions(tokenizer_class: TokenizerClass, declared: Declared) -> Iterator[str]:
    """Yield warnings about a class that is not known, and about versions of a known one that read texts differently."""
    name = declared.class_name
    if name is not None and name != tokenizer_class.name:
        yield (
            f"the files name a {name}, whose rules are not known here: by its merges, the vocabulary is read as "
            f"that of a {tokenizer_class.name}"
        )
        return
    if name == "BlenderbotTokenizer" and declared.add_prefix_space is None:
        yield (
            f"no file sets add_prefix_space: a {name} of transformers 4 puts no space in front of a text, and one of "
            "version 5 does, as here"
        )
    if name == "BlenderbotTokenizer":
        yield f"a {name} of transformers 5 puts nothing after a text, and one of version 4 eos, as here"
    if name == "DebertaTokenizer":
        yield f"a {name} of transformers 5 puts two sep between two texts, and one of version 4 a single one, as here"
    mask = declared.config.roles.get("mask", tokenizer_class.roles.get("mask"))
    if name in _MASK_DIFFERS and mask is not None and not declared.flags_of(mask):
        yield (
            f"no file sets the flags of {mask!r}: a {name} of transformers 5 leaves the white space before it, and one "
            "of version 4 takes it, as here"
        )


def _classes_hint(against: str) -> str:
    if END_OF_WORD in against:
        first, *others = names_with_suffix()
        return (
            "name the model's tokenizer.json, or say which class of transformers reads it in a tokenizer_config.json "
            f'beside it: {{"tokenizer_class": "{first}"}}, or {", ".join(others)}'
        )
    return "name the model's tokenizer.json, or its .model file: these two files do not say how it reads text"


def _no_pattern(
    path: Path, vocab: Mapping[str, int], across: Sequence[str], *, class_name: str | None
) -> ConfigError:
    if across:
        hint = (
            f"merges cross spaces, as in {across[0]!r}, so none of the named patterns fits: name the "
            f"tokenizer.json, or give its regular expression as --pattern"
        )
    else:
        hint = (
            f"{pattern_hint(len(vocab), of='pieces')}; so does a tokenizer_config.json beside it that names the "
            "tokenizer_class"
        )
    beside = "nor does a file beside it"
    if class_name is not None:
        beside = f"and the {class_name} that the files beside it name is not known here"
    return ConfigError(f"{path} does not define how to split text, {beside}", hint=hint)


def _special_tokens(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    request: OpenRequest,
    *,
    is_defined: bool,
) -> dict[str, int]:
    """Return the special tokens that the user names; else tokens that look special and that no merge makes.

    Args:
        vocab: piece → id.
        merges: pairs of pieces in the order of their ranks.
        request: the user's options.
        is_defined: whether the files beside the vocabulary define them, by listing them or by naming the class.
    """
    wanted = request.asked_tokens(num_tokens=len(vocab), known={})
    if not wanted and is_defined:
        return {}
    if not wanted:
        merged = {"".join(pair) for pair in merges}
        return {text: id for text, id in vocab.items() if text not in merged and SPECIAL_LOOK.fullmatch(text)}
    next_id = max(vocab.values()) + 1
    specials: dict[str, int] = {}
    for text, asked in wanted.items():
        own_id = vocab.get(text, next_id)
        if asked not in (None, own_id):
            raise ConfigError(
                f"the special token {text!r} cannot have the id {asked}",
                hint=f"beside a vocabulary with merges it has the id {own_id}",
            )
        specials[text] = own_id
        next_id += text not in vocab
    return specials
