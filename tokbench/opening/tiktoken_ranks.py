"""Open ranks: rank files, which define neither a split pattern nor special tokens, and Mistral's `tekken.json`."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Literal

from tokbench.core.descriptions import ByteLevelBpe
from tokbench.core.post_processing import NOTHING, templates_of
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.token_table import TokenTable, check_largest_id, ids_held
from tokbench.core.wording import counted, is_or_are, quoted
from tokbench.errors import ConfigError
from tokbench.formats.tiktoken import check_byte_tokens, parse_ranks
from tokbench.opening.added_tokens import beside_ranks
from tokbench.opening.files import parse_json, plain_name, read_file
from tokbench.opening.known_ranks import KNOWN_BY_SHA256, of_name, pattern_hint
from tokbench.opening.patterns import known_pattern
from tokbench.opening.rank_classes import class_of_ranks, named_class
from tokbench.opening.request import Composition, Opened
from tokbench.opening.tokenizer_classes import SAY_NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import tiktoken

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.libraries.tiktoken import TiktokenTokenizer
    from tokbench.opening.known_ranks import KnownRanks
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import OpenRequest


_MERGING = "merging is tiktoken's"


def open_ranks(source: Source, request: OpenRequest) -> Opened:
    """Open the tokenizer of a rank file.

    Raises:
        ModelFormatError: a line is damaged, a byte has no token, or a rank is too large to hold.
        ConfigError: the pattern is neither known nor given, or the id of a special token is taken.
    """
    path = source.files[0]
    data = read_file(path)
    tokens = read_table(data, path=path)
    by_class = class_of_ranks(path.parent, source.config, num_tokens=tokens.num_tokens)
    by_hash = KNOWN_BY_SHA256.get(hashlib.sha256(data).hexdigest())
    if by_hash is not None:
        by_hash = of_name(by_hash, plain_name(path).stem)
    known = by_class or by_hash
    pattern = request.pattern or (known.pattern if known else None)
    if pattern is None:
        raise _no_pattern(path, tokens.num_tokens, named_class(path.parent, source.config)[0])
    known_tokens, warnings = _collected_special_tokens(
        tokens, source.config, by_class=by_class, by_hash=by_hash
    )
    if known:
        source = replace(source, config=_config_with_known(source.config, known, known_tokens))
    if by_hash and not by_class and by_hash.note and known_tokens == by_hash.special_tokens:
        warnings = (*warnings, by_hash.note)
    if by_class and by_class.note:
        warnings = (*warnings, by_class.note)
    special_tokens = _special_tokens(
        request.asked_tokens(num_tokens=tokens.num_tokens, known=known_tokens), known_tokens, tokens
    )
    opened = open_rank_table(
        tokens,
        source=source,
        request=request,
        name=by_hash.name if by_hash else source.name,
        pattern=pattern,
        normalization=known.normalization if known and request.pattern is None else None,
        special_tokens=special_tokens,
        post_processing=_around(by_class, roles=source.config.roles, ids=special_tokens),
    )
    return replace(opened, find_warnings=lambda: (*opened.warnings, *warnings))


def open_tekken(source: Source, request: OpenRequest) -> Opened:
    """Open the tokenizer of a `tekken.json`.

    Raises:
        ModelFormatError: a field is missing or of the wrong type, or a token is listed twice.
        ConfigError: an option sets what the file already defines, or the demanded engine cannot run it.
    """
    from tokbench.formats.tekken import ROLES, parse_tekken
    from tokbench.formats.tiktoken import table_of_ranks

    path = source.files[0]
    request.refuse_options("tekken.json")
    tekken = parse_tekken(parse_json(read_file(path), path=path), path=path)
    roles = {role: text for role, text in ROLES.items() if text in tekken.special_tokens}
    config = replace(source.config, roles={**roles, **source.config.roles})
    return open_rank_table(
        table_of_ranks(tekken.ranks),
        source=replace(source, config=config),
        request=request,
        name=source.name,
        pattern=tekken.pattern,
        special_tokens=tekken.special_tokens,
    )


def read_table(data: bytes, *, path: Path) -> TokenTable:
    """Return the tokens of a rank file, indexed by rank.

    Raises:
        ModelFormatError: a line is damaged, a byte has no token, or a rank is too large to hold.
    """
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.formats.tiktoken import table_of_ranks

    read = current_kernel().read_ranks(data, ids_held(data.count(b"\n")))
    if read is not None:
        block, starts, gaps = read
        tokens = TokenTable(block, memoryview(starts).cast("I"), gaps)
        check_largest_id(len(tokens) - 1, num_entries=tokens.num_tokens, path=path)
        return tokens
    ranks = parse_ranks(data, path=path)
    check_byte_tokens(ranks, path=path)
    largest = max(rank for _, rank in ranks)
    check_largest_id(largest, num_entries=len(ranks), path=path)
    return table_of_ranks(ranks)


def _collected_special_tokens(
    tokens: TokenTable,
    config: TokenizerConfig,
    *,
    by_class: KnownRanks | None,
    by_hash: KnownRanks | None,
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Collect the special tokens of a rank file from its class, from its known hash, and from the files beside it.

    Returns:
        Text → id; and one sentence for each entry that cannot be used.
    """
    layers = [known.special_tokens for known in (by_class, by_hash) if known is not None]
    usual = {text: id for layer in layers for text, id in layer.items()}
    beside, warnings = beside_ranks(config, tokens, usual=usual, every_kind=by_class is not None)
    if beside and (by_class is None or by_class.all_or_none):
        return beside, warnings
    by_id = {id: text for layer in (*layers, beside) for text, id in layer.items()}
    return {text: id for id, text in sorted(by_id.items())}, warnings


def _config_with_known(
    config: TokenizerConfig, known: KnownRanks, special_tokens: Mapping[str, int]
) -> TokenizerConfig:
    """Add the known roles and generation ids of a rank file where the files beside it set none."""
    has_ids = known.eos_ids and set(known.eos_ids) <= set(special_tokens.values())
    ids = {"eos": known.eos_ids} if has_ids else {}
    return replace(
        config,
        roles=config.roles or {role: text for role, text in known.roles.items() if text in special_tokens},
        generation_ids=config.generation_ids or ids,
    )


def _around(
    by_class: KnownRanks | None, *, roles: Mapping[str, str], ids: Mapping[str, int]
) -> PostProcessing:
    """Build the template of a class from the tokens that the vocabulary has."""
    if by_class is None:
        return NOTHING
    texts = {**{text.strip("[]<>"): text for text in by_class.special_tokens}, **by_class.roles, **roles}
    return templates_of(*by_class.around, texts=texts, ids=ids)


def open_rank_table(
    tokens: TokenTable,
    *,
    source: Source,
    request: OpenRequest,
    name: str,
    pattern: str,
    special_tokens: Mapping[str, int],
    normalization: Literal["nfc"] | None = None,
    post_processing: PostProcessing = NOTHING,
) -> Opened:
    """Open the tokenizer of a rank table, on our kernel if it can run the split pattern.

    Raises:
        ConfigError: the pattern does not compile, or the demanded engine cannot run it.
    """
    from tokbench.backends.bpe.split_patterns import resolve_pattern

    pattern_name, text = known_pattern(pattern)
    if pattern_name == "custom":
        text = resolve_pattern(pattern).regex  # raises if the pattern is invalid
    if pattern == "qwen2":
        normalization = "nfc"
    description = ByteLevelBpe(
        tokens=tokens.extended(max(len(tokens), *(id + 1 for id in special_tokens.values()), 0)),
        merges=None,
        pattern=text,
        pattern_name=pattern_name,
        normalization=normalization,
        special_tokens=special_tokens,
        whole_tokens_first=True,
        post_processing=post_processing,
    )

    def library() -> TiktokenTokenizer:
        from tokbench.libraries.tiktoken import TiktokenTokenizer

        return TiktokenTokenizer(tokens.ranks(), name=name, pattern=text, special_tokens=special_tokens)

    native, reason = _native_of(description, name=name, library=library)
    if native is None:
        request.refuse_engine("native", reason)
    elif normalization is not None:
        request.refuse_engine(
            "library", f"tiktoken has no normalizer, and {name} normalizes text to NFC first"
        )
    elif request.engine == "library":
        native, reason = None, "asked for"
    engine = "library" if native is None else "native"
    return Opened(
        tokenizer=library() if native is None else native(),
        source=source,
        engine=engine,
        reason=reason,
        compose=lambda: Composition(
            model="byte-level BPE, by ranks",
            parts={"normalizer": normalization.upper() if normalization else None},
            pattern=(pattern_name, text),
        ),
        find_warnings=lambda: _warnings(tokens.ranks()),
    )


def open_encoding(encoding: tiktoken.Encoding, *, source: Source, request: OpenRequest) -> Opened:
    """Open a `tiktoken.Encoding` built by the library."""
    from tokbench.formats.tiktoken import table_of_ranks

    return open_rank_table(
        table_of_ranks(list(encoding._mergeable_ranks.items())),
        source=source,
        request=request,
        name=encoding.name,
        pattern=encoding._pat_str,
        special_tokens=dict(encoding._special_tokens),
    )


def _native_of(
    description: ByteLevelBpe, *, name: str, library: Callable[[], TiktokenTokenizer]
) -> tuple[Callable[[], Tokenizer] | None, str]:
    """Return a function that builds the tokenizer on our kernel, or None if that cannot run it; and the reason."""
    if description.pattern_name == "custom" and description.normalization is None:
        return _by_program(description, name=name, library=library)
    if description.pattern_name == "custom":
        splitter = "the kernel" if _splits_in_kernel(description) else "regex"
        reason = f"{splitter} splits by its pattern, after NFC, and {_MERGING}"
        return partial(_native, description, name=name, library=library), reason
    known = f"{description.pattern_name!r} is a pattern that our scanners know"
    return partial(_native, description, name=name, library=library), f"{known}, and {_MERGING}"


def _splits_in_kernel(description: ByteLevelBpe) -> bool:
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.backends.bpe.split_programs.compiled import compiled_pattern

    is_native = current_kernel().name == "native"
    return is_native and description.pattern is not None and compiled_pattern(description.pattern) is not None


def _by_program(
    description: ByteLevelBpe, *, name: str, library: Callable[[], TiktokenTokenizer]
) -> tuple[Callable[[], Tokenizer] | None, str]:
    """Do the same as `_native_of` for a pattern without a scanner."""
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.opening.native_ranks import NativeRanks, rank_splitting
    from tokbench.opening.tokenizer_json_tokens import NotNativeError

    kernel, pattern = current_kernel(), description.pattern
    if kernel.name != "native" or pattern is None:
        return None, "its split pattern runs on the compiled kernel only"
    try:
        splitting = rank_splitting(pattern)
    except NotNativeError as error:
        return None, str(error)
    build = partial(
        NativeRanks.of, description, name=name, kernel=kernel, splitting=splitting, library=library
    )
    return build, f"its pattern splits a text as by tiktoken, and {_MERGING}"


def _native(description: ByteLevelBpe, *, name: str, library: Callable[[], TiktokenTokenizer]) -> Tokenizer:
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.opening.native_with_fallback import NativeBpeWithFallback
    from tokbench.opening.unicode_agreement import UnicodeAgreement, tiktoken_members

    kernel = current_kernel()
    if description.normalization is not None:  # no library does NFC and ranks, so our definition decides
        return BpeTokenizer.from_description(description, name=name, kernel=kernel)
    agreement = UnicodeAgreement(tiktoken_members, kernel=kernel.name, nfc=False)
    return NativeBpeWithFallback.build(
        description, name=name, kernel=kernel, agreement=agreement, library=library
    )


def _special_tokens(
    asked: Mapping[str, int | None], known: Mapping[str, int], tokens: TokenTable
) -> dict[str, int]:
    """Return the known special tokens and the requested ones, with free ids for those requested without an id."""
    check_special_tokens(list(asked))
    limit = ids_held(tokens.num_tokens)
    ids = {text: id for text, id in known.items() if text not in asked}
    ids |= {text: id for text, id in asked.items() if id is not None}
    free = count(max([len(tokens) - 1, *ids.values()]) + 1)
    for text, id in asked.items():
        if id is None:
            ids[text] = next(free)
    for text, id in ids.items():
        others = [other for other, other_id in ids.items() if other_id == id and other != text]
        if tokens.holds(id) or others or not 0 <= id < limit:
            impossible = f"impossible: ids are from 0 to {limit - 1:,} here"
            owner = (
                f"of {others[0]!r}" if others else "of an ordinary token" if tokens.holds(id) else impossible
            )
            raise ConfigError(
                f"the special token {text!r} has the id {id}, which is {owner}",
                hint="give it a free one, --special-token 'TEXT=ID', or none at all",
            )
    return ids


def _no_pattern(path: Path, num_ranks: int, class_name: str | None) -> ConfigError:
    unknown = "its content is unknown"
    if class_name and class_name.removesuffix("Fast") not in SAY_NOTHING:
        unknown = f"neither its content nor its {class_name} is known here"
    return ConfigError(
        f"{path} does not define how to split text, and {unknown}", hint=pattern_hint(num_ranks, of="ranks")
    )


def _warnings(ranks: Sequence[tuple[bytes, int]]) -> tuple[str, ...]:
    """Return warnings about ranks that tiktoken accepts."""
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
        shown = ", ".join(quoted(token) for token in unreachable[:3])
        tokens = f"{counted(len(unreachable), 'token')} {is_or_are(len(unreachable))}"
        warnings.append(f"{tokens} not made of two of lower rank, as {shown}")
    if gaps:
        warnings.append(f"{counted(gaps, 'id')} below the largest {'has' if gaps == 1 else 'have'} no token")
    return tuple(warnings)
