"""Parse a Unigram of a `tokenizer.json` for our kernel, or say why the library has to run it.

Our kernel implements SentencePiece's table of replacements, `WhitespaceSplit` with `Metaspace`, and `Unigram`. If a
document asks for anything else that could change an id, it is left to its library. The checks mirror these files of
Hugging Face's `tokenizers`, below `tokenizers/src`: models/unigram/model.rs, normalizers/precompiled.rs,
pre_tokenizers/metaspace.rs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.formats.sentencepiece.unigram_scores import UNKNOWN_PENALTY
from tokbench.libraries.huggingface.tokenizer_json import special_contents, steps
from tokbench.opening.found_tokens import FoundToken, found_tokens
from tokbench.opening.replacement_table import table_of
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.word_vocabulary import byte_ids_of_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramDescription:
    """A Unigram as our kernel runs it.

    Attributes:
        pieces: piece → id, without special tokens.
        special_pieces: piece → id of special tokens; used where special tokens are searched and the normalized text
            spells one.
        scores: the score of each id.
        unknown: the id of unknown characters.
        byte_ids: the ids of the 256 bytes if the model has byte fallback.
        normalization: the normalization done in Python, before the table.
        charsmap: the table of replacements; empty if there is none.
        only_spaces: whether only spaces separate words, so that other white space is like any character.
        prepend_scheme: Metaspace's: whether the first word of a text has ▁ in front if no space precedes it.
        trims_ends: whether trailing spaces are removed; if not, a text that ends in one is left to the library.
        added: the added tokens.
        finds_specials: whether `added` includes special tokens; if not, the library finds them.
        knows_places: whether spans are known, which depend on the library's treatment of white space around tokens.
    """

    pieces: Mapping[str, int]
    special_pieces: Mapping[str, int]
    scores: Sequence[float]
    unknown: int
    byte_ids: tuple[int, ...] | None
    normalization: TextNormalization
    charsmap: bytes
    only_spaces: bool
    prepend_scheme: str
    trims_ends: bool
    added: tuple[FoundToken, ...]
    finds_specials: bool
    knows_places: bool

    @property
    def unknown_score(self) -> float:
        """The score of an unknown character."""
        return min(self.scores) - UNKNOWN_PENALTY


def unigram_description(
    document: Mapping[str, Any], *, ids: Mapping[str, int], normalize: Callable[[str], str]
) -> UnigramDescription:
    """Parse a document for our kernel.

    Args:
        document: a `tokenizer.json` of a Unigram that its library accepts.
        ids: the library's id for each of its tokens.
        normalize: applies all normalizers of the document to a text.

    Raises:
        NotNativeError: the document does something that our kernel does not.
    """
    model = document["model"]
    if any(model.get(name) is not None for name in ("alpha", "nbest_size")):
        raise NotNativeError("it samples tokens at random")
    if model.get("unk_id") is None:
        raise NotNativeError("it has no unknown token")
    only_spaces, prepend_scheme = _words_between_spaces(document)
    before, charsmap, after = _normalizers(document)
    if only_spaces:
        _check_white_space(charsmap)
    trims_ends = _trims_ends(after, only_spaces=only_spaces)
    normalization = TextNormalization(before)
    pieces = {piece: id for id, (piece, _) in enumerate(model["vocab"])}
    byte_ids = byte_ids_of_pieces(pieces) if model.get("byte_fallback") else None
    pieces.pop("", None)
    special = pieces.keys() & set(special_contents(document))
    special_pieces = {piece: pieces.pop(piece) for piece in sorted(special, key=pieces.__getitem__)}
    added, finds_specials = _added_tokens(document, ids, normalize=normalize, only_spaces=only_spaces)
    return UnigramDescription(
        pieces=pieces,
        special_pieces=special_pieces,
        scores=[float(score) for _, score in model["vocab"]],
        unknown=model["unk_id"],
        byte_ids=byte_ids,
        normalization=normalization,
        charsmap=charsmap,
        only_spaces=only_spaces,
        prepend_scheme=prepend_scheme,
        trims_ends=trims_ends,
        added=added,
        finds_specials=finds_specials,
        knows_places=not (only_spaces and any(step.get("strip_left") for step in after))
        and not any(token.in_normalized and (token.lstrip or token.rstrip) for token in added),
    )


def _added_tokens(
    document: Mapping[str, Any],
    ids: Mapping[str, int],
    *,
    normalize: Callable[[str], str],
    only_spaces: bool,
) -> tuple[tuple[FoundToken, ...], bool]:
    """Return the added tokens, and whether special ones are included: only if the kernel finds them as the library.

    Tokens that are matched in the normalized text are searched inside words, of which they are a part.
    """
    listed: Sequence[Mapping[str, Any]] = document["added_tokens"]
    everywhere = [token for token in listed if not token.get("special")]

    def found(tokens: Sequence[Mapping[str, Any]]) -> tuple[FoundToken, ...]:
        tokens_found = found_tokens(tokens, ids, normalization=normalize)
        for token in tokens_found:
            is_inside = not (
                only_spaces or token.single_word or any(map(WHITE_SPACE.__contains__, token.text))
            )
            if token.in_normalized and not is_inside:
                raise NotNativeError(f"its added token {token.content!r} is matched in the normalized text")
        return tokens_found

    ordinary = found(everywhere)
    # The parts between found tokens spell no special token, unless it contains ▁ or must be a single word.
    if any(SPACE in token["content"] or token.get("single_word") for token in listed if token.get("special")):
        return ordinary, False
    try:
        return found(listed), True
    except NotNativeError:
        return ordinary, False


def _words_between_spaces(document: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether only spaces separate words, and not white space of all kinds, and how first words are marked."""
    splitters = steps(document.get("pre_tokenizer"))
    kinds = [step.get("type") for step in splitters]
    if kinds not in (["WhitespaceSplit", "Metaspace"], ["Metaspace"]):
        raise NotNativeError("it does not split by WhitespaceSplit and Metaspace")
    metaspace = splitters[-1]
    only_spaces = kinds == ["Metaspace"]
    scheme = str(metaspace.get("prepend_scheme", "always"))
    marks_words = metaspace.get("add_prefix_space", True) and (only_spaces or scheme == "always")
    if metaspace.get("replacement") != SPACE or not marks_words or metaspace.get("split", True) is not True:
        raise NotNativeError(f"its Metaspace does not put {SPACE} in front of each word")
    return only_spaces, scheme


def _normalizers(
    document: Mapping[str, Any],
) -> tuple[list[Mapping[str, Any]], bytes, list[Mapping[str, Any]]]:
    """Return the steps before the table of replacements, the table, and the steps on spaces after it."""
    normalizers = steps(document.get("normalizer"))
    tables = [number for number, step in enumerate(normalizers) if step.get("type") == "Precompiled"]
    if len(tables) > 1:
        raise NotNativeError("it has two tables of replacements")
    if not tables:
        after = 0
        while after < len(normalizers) and _is_run_of_spaces(normalizers[-1 - after]):
            after += 1
        at = len(normalizers) - after
        at -= bool(after and at and normalizers[at - 1].get("type") == "Strip")
        return normalizers[:at], b"", normalizers[at:]
    charsmap = table_of(normalizers[tables[0]])
    return normalizers[: tables[0]], charsmap, normalizers[tables[0] + 1 :]


def _check_white_space(charsmap: bytes) -> None:
    """Refuse a table that keeps white space if only spaces separate words: the kernel cuts at all white space."""
    from tokenizers.normalizers import Precompiled

    replaced = Precompiled(charsmap).normalize_str if charsmap else str
    if any(replaced(character).strip(" ") for character in "\t\n\r "):
        raise NotNativeError("its words end at spaces only, and it keeps other white space")


def _is_run_of_spaces(step: Mapping[str, Any]) -> bool:
    """Whether a step replaces a run of spaces by one space, or by the ▁ that a space becomes."""
    match step:
        case {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " " | "▁"}:
            return True
    return False


def _trims_ends(after: Sequence[Mapping[str, Any]], *, only_spaces: bool) -> bool:
    """Whether trailing spaces are removed, in a document that collapses runs of spaces."""
    if not only_spaces:
        # Words separated by any white space do not depend on the number of spaces.
        if all(step.get("type") == "Strip" or step.get("content") == " " for step in after) and all(
            step.get("type") == "Strip" or _is_run_of_spaces(step) for step in after
        ):
            return True
        raise NotNativeError("it normalizes after its table of replacements")
    match after:
        case [{"type": "Strip", "strip_right": True}, runs] if _is_run_of_spaces(runs):
            return True
        case [runs] if _is_run_of_spaces(runs):
            return False
    raise NotNativeError("it does not collapse spaces, which Metaspace would split")
