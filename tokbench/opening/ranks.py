"""Rank files: tokens and ranks are there, the pattern and the special tokens are not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from tokbench.adapters.tiktoken import TiktokenTokenizer
from tokbench.errors import ConfigError
from tokbench.formats.tiktoken import check_byte_tokens, parse_ranks
from tokbench.ids import check_largest_id, ids_held
from tokbench.models import ByteLevelBpe
from tokbench.opening.added_tokens import beside_ranks
from tokbench.opening.files import read_file
from tokbench.opening.known_ranks import KNOWN_BY_SHA256, likely_pattern
from tokbench.opening.patterns import known_pattern
from tokbench.opening.request import Opened
from tokbench.special_tokens import check_special_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import tiktoken

    from tokbench.formats.tokenizer_config import TokenizerConfig
    from tokbench.interfaces import Tokenizer
    from tokbench.opening.known_ranks import KnownRanks
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import OpenRequest


def open_ranks(source: Source, request: OpenRequest) -> Opened:
    """The tokenizer of a rank file.

    Raises:
        ModelFormatError: a damaged line, a byte without a token, a rank too large to hold.
        ConfigError: the pattern is not known and not given, or a special token's id is taken.
    """
    path = source.files[0]
    data = read_file(path)
    ranks = parse_ranks(data, path=path)
    check_byte_tokens(ranks, path=path)
    largest = max(rank for _, rank in ranks)
    check_largest_id(largest, num_entries=len(ranks), path=path)
    known = KNOWN_BY_SHA256.get(hashlib.sha256(data).hexdigest())
    pattern = request.pattern or (known.pattern if known else None)
    if pattern is None:
        raise _no_pattern(path, len(ranks))
    beside, warnings = beside_ranks(source.config, ranks)
    if known and not beside:
        says, source = known.special_tokens, replace(source, config=_with_known(source.config, known))
        warnings = (*warnings, *([known.note] if known.note else []))
    else:
        says = beside
    opened = open_rank_table(
        ranks,
        source=source,
        request=request,
        name=known.name if known else source.name,
        pattern=pattern,
        special_tokens=_special_tokens(request.special_tokens, says, ranks),
    )
    return replace(opened, warnings=(*opened.warnings, *warnings))


def _with_known(config: TokenizerConfig, known: KnownRanks) -> TokenizerConfig:
    """What is known of a rank file, where nothing beside it says something else."""
    ids = {"eos": known.eos_ids} if known.eos_ids else {}
    return replace(
        config,
        roles=config.roles or dict(known.roles),
        generation_ids=config.generation_ids or ids,
    )


def open_rank_table(
    ranks: Sequence[tuple[bytes, int]],
    *,
    source: Source,
    request: OpenRequest,
    name: str,
    pattern: str,
    special_tokens: Mapping[str, int],
) -> Opened:
    """The tokenizer of tokens with their ranks, on our kernel where the pattern is one of ours.

    Raises:
        ConfigError: the pattern does not compile; or
            an engine was demanded that cannot run it.
    """
    from tokbench.backends.bpe.split import resolve_pattern

    pattern_name, text = known_pattern(pattern)
    if pattern_name == "custom":
        text = resolve_pattern(pattern).regex  # checks it
    normalization = "nfc" if pattern == "qwen2" else None
    table: list[bytes | None] = [None] * (
        max([rank for _, rank in ranks] + list(special_tokens.values())) + 1
    )
    for token, rank in ranks:
        table[rank] = token
    description = ByteLevelBpe(
        tokens=tuple(table),
        merges=None,
        pattern=text,
        pattern_name=pattern_name,
        normalization=normalization,
        special_tokens=special_tokens,
        whole_tokens_first=True,
    )

    def library() -> TiktokenTokenizer:
        return TiktokenTokenizer.from_ranks(ranks, name=name, pattern=text, special_tokens=special_tokens)

    against_native = _against_native(pattern_name)
    engine, reason = (
        "native",
        f"{pattern_name!r} is a pattern that our scanners know, and merging is tiktoken's",
    )
    if against_native is not None:
        request.refuses("native", against_native)
        engine, reason = "library", against_native
    elif normalization is not None:
        request.refuses("library", "tiktoken has no normaliser, and qwen2 brings text to NFC first")
    elif request.engine == "library":
        engine, reason = "library", "asked for"
    tokenizer = library() if engine == "library" else _native(description, name=name, library=library)
    return Opened(
        tokenizer=tokenizer,
        source=source,
        model="byte-level BPE, by ranks",
        engine=engine,
        reason=reason,
        parts={"normalizer": normalization.upper() if normalization else None},
        pattern=(pattern_name, text),
        warnings=_warnings(ranks),
    )


def open_encoding(encoding: tiktoken.Encoding, *, source: Source, request: OpenRequest) -> Opened:
    """A `tiktoken.Encoding` that the library made itself."""
    ranks = sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1])
    return open_rank_table(
        ranks,
        source=source,
        request=request,
        name=encoding.name,
        pattern=encoding._pat_str,
        special_tokens=dict(encoding._special_tokens),
    )


def _native(description: ByteLevelBpe, *, name: str, library: object) -> Tokenizer:
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.opening.agreement import CharacterAgreement, tiktoken_members
    from tokbench.opening.exact import ExactBpe

    kernel = current_kernel()
    if description.normalization is not None:  # no library does both, so our definition is the law
        return BpeTokenizer.from_description(description, name=name, kernel=kernel)
    agreement = CharacterAgreement(tiktoken_members, kernel=kernel.name, nfc=False)
    return ExactBpe.build(description, name=name, kernel=kernel, agreement=agreement, library=library)  # type: ignore[arg-type]


def _against_native(pattern_name: str) -> str | None:
    return "its split pattern is none that our scanners know" if pattern_name == "custom" else None


def _special_tokens(
    asked: Mapping[str, int | None], known: Mapping[str, int], ranks: Sequence[tuple[bytes, int]]
) -> dict[str, int]:
    """The known special tokens and those asked for, the latter's missing ids filled in."""
    check_special_tokens(list(asked))
    taken, most = {rank for _, rank in ranks}, ids_held(len(ranks))
    made = {text: id for text, id in known.items() if text not in asked}
    made |= {text: id for text, id in asked.items() if id is not None}
    free = count(max([*taken, *made.values()]) + 1)
    for text, id in asked.items():
        if id is None:
            made[text] = next(free)
    for text, id in made.items():
        others = [other for other, its in made.items() if its == id and other != text]
        if id in taken or others or not 0 <= id < most:
            impossible = f"impossible: ids are from 0 to {most - 1:,} here"
            owner = f"of {others[0]!r}" if others else "of an ordinary token" if id in taken else impossible
            raise ConfigError(
                f"the special token {text!r} has the id {id}, which is {owner}",
                hint="give it a free one, as --special-token 'TEXT=ID', or none at all",
            )
    return made


def _no_pattern(path: Path, num_ranks: int) -> ConfigError:
    likely = likely_pattern(num_ranks)
    suggestion = (
        f"{num_ranks:,} ranks are usual with --pattern {likely}"
        if likely
        else "--pattern takes a name (gpt2, gpt4, gpt4o, llama3, qwen2) or a regular expression"
    )
    return ConfigError(
        f"{path} does not say how text is split, and its content is not known", hint=suggestion
    )


def _warnings(ranks: Sequence[tuple[bytes, int]]) -> tuple[str, ...]:
    """What is odd about ranks, though tiktoken takes it."""
    rank_of = dict(ranks)
    unreachable = [
        token
        for token, rank in ranks
        if len(token) > 1
        and not any(
            rank_of.get(token[:cut], rank) < rank and rank_of.get(token[cut:], rank) < rank
            for cut in range(1, len(token))
        )
    ]
    gaps = max(rank_of.values()) + 1 - len(ranks)
    warnings = []
    if unreachable:
        shown = ", ".join(repr(token) for token in unreachable[:3])
        warnings.append(f"{len(unreachable):,} tokens are not made of two of lower rank, as {shown}")
    if gaps:
        warnings.append(f"{gaps:,} ids below the largest have no token")
    return tuple(warnings)
