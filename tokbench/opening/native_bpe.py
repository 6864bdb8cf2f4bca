"""Decide whether a `tokenizer.json` is a byte-level BPE for which the native kernel gives the library's ids.

Our kernel cuts a text at special tokens, splits it by a pattern that it knows, and merges. If the file asks for
anything else that could change an id, it is left to its library.

The part of Hugging Face's `tokenizers` that each check mirrors, by files below `tokenizers/src`:

_check_model        `BPE::merge_word` in models/bpe/model.rs: dropout, and the affixes around characters
_merges             `BpeBuilder::build` there: merges become a map, so of a merge listed twice the last rank counts
whole_tokens_first  `BPE::tokenize_with_cache` there: under ignore_merges a whole pre-token is looked up first
_pattern            pre_tokenizers/byte_level.rs (add_prefix_space, use_regex) and pre_tokenizers/split.rs
_normalization      normalizers/: NFC alone is the same in our kernel
_post_processing    utils/truncation.rs, which fails if the stride leaves no room
decoder             decoders/mod.rs: ByteLevel alone joins the bytes of tokens and does nothing else
added_tokens        `AddedVocabulary` in tokenizer/added_vocabulary.rs; see `tokenizer_json_tokens`
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.core.post_processing import template_size
from tokbench.errors import ModelFormatError
from tokbench.formats.post_processors import UnknownPostProcessingError, parse_post_processing
from tokbench.formats.tokenizer_json import all_from_byte_level
from tokbench.libraries.huggingface.tokenizer_json import steps
from tokbench.opening.patterns import known_pattern
from tokbench.opening.tokenizer_json_tokens import AddedTokens, NotNativeError, added_tokens, is_hidden

__all__ = [
    "CheckedMerges",
    "NotNativeError",
    "ParsedBpe",
    "byte_level_bpe",
    "check_bpe",
    "merge_ids",
    "merge_pairs",
    "parse_byte_level_bpe",
    "repeats_a_merge",
]

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.descriptions import PostProcessing


@dataclass(frozen=True, slots=True)
class ParsedBpe:
    """A document as a byte-level BPE, whichever engine runs it.

    Attributes:
        bpe: the byte-level BPE; its special tokens are all added tokens.
        added: which added tokens are special, and how the document says that they are found.
    """

    bpe: ByteLevelBpe
    added: AddedTokens


def byte_level_bpe(document: Mapping[str, Any], *, path: Path | str) -> ByteLevelBpe:
    """Return a document as a byte-level BPE that our kernel runs.

    Args:
        document: a parsed `tokenizer.json`.
        path: the document as error messages name it.

    Raises:
        NotNativeError: the document uses something that our kernel lacks, or does differently for some texts.
        ModelFormatError: its vocabulary and merges contradict each other.
    """
    return parse_byte_level_bpe(document, path=path, for_kernel=True).bpe


def parse_byte_level_bpe(
    document: Mapping[str, Any], *, path: Path | str, for_kernel: bool = False
) -> ParsedBpe:
    """Return a document as a byte-level BPE, even with a custom pattern or added tokens that the kernel cannot find.

    Args:
        document: a parsed `tokenizer.json`.
        path: the document as error messages name it.
        for_kernel: whether to refuse such a pattern and such tokens, before the vocabulary and the merges are read.

    Raises:
        NotNativeError: its ids are not the result of splitting by one pattern and merging.
        ModelFormatError: its vocabulary and merges contradict each other.
    """
    model = document["model"]
    _check_model(model)
    pattern_name, pattern = _pattern(document.get("pre_tokenizer"))
    normalization = _normalization(document.get("normalizer"))
    if (document.get("decoder") or {}).get("type") != "ByteLevel":
        raise NotNativeError("its decoder is not plain byte-level decoding")
    post_processing = _post_processing(document)
    added = added_tokens(document.get("added_tokens") or [], model["vocab"], normalization=normalization)
    if for_kernel:
        added.check_found()
        if pattern_name == "custom":
            raise NotNativeError("its split pattern is not one of those that the native kernel implements")
    bpe = ByteLevelBpe(
        tokens=_tokens(model["vocab"], added.all),
        merges=_merges(model, added.all, path=path, normalizers=[] if normalization is None else ["NFC"]),
        pattern=pattern,
        pattern_name=pattern_name,
        normalization=normalization,
        special_tokens=added.all,
        whole_tokens_first=bool(model.get("ignore_merges")),
        token_flags=added.flags,
        post_processing=post_processing,
    )
    return ParsedBpe(bpe, added)


class CheckedMerges(list[Any]):
    """The merges of a BPE as its file lists them, all of which belong to a vocabulary, as does what they make.

    Attributes:
        vocab: the vocabulary.
        ids: uint32[n, 3] of the left, the right and the merged id of each merge.
    """

    def __init__(self, merges: Iterable[Any], *, vocab: Mapping[str, int], ids: NDArray[np.uint32]) -> None:
        super().__init__(merges)
        self.vocab = vocab
        self.ids = ids

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The merges as pairs of pieces."""
        return merge_pairs({"merges": [*self]}, path="")


def check_bpe(model: Mapping[str, Any], *, path: Path | str) -> CheckedMerges:
    """Return the merges with their ids; like the library, refuse a BPE whose merges do not belong to its vocabulary.

    Args:
        model: the model; its vocabulary was checked.
        path: the file in error messages.

    Raises:
        ModelFormatError: a merge does not belong; the message gives its number, counted from 0.
    """
    for key in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"):
        if not isinstance(model.get(key), str | None):
            raise ModelFormatError(path, f"a string as {key}", f"{model[key]!a:.40}")
    vocab = model["vocab"]
    prefix = model.get("continuing_subword_prefix") or ""
    ids = None if prefix else _ids_by_kernel(model.get("merges"), vocab)
    if ids is None:
        ids = _ids_of(merge_pairs(model, path=path), vocab, prefix=prefix, path=path)
    return CheckedMerges(model["merges"], vocab=vocab, ids=ids.reshape(-1, 3))


def _ids_by_kernel(merges: object, vocab: Mapping[str, int]) -> NDArray[np.uint32] | None:
    """Return the ids of merges one after another; None if the kernel does not find all, or is not there."""
    if not (isinstance(merges, list) and isinstance(vocab, dict) and has_native_kernel()):
        return None
    from tokbench.native import _bpe

    return _bpe.merge_ids(merges, vocab)


def _ids_of(
    pairs: Sequence[tuple[str, str]], vocab: Mapping[str, int], *, prefix: str, path: Path | str
) -> NDArray[np.uint32]:
    """Return the same. Raises `ModelFormatError` for a merge that does not belong to the vocabulary."""
    import numpy as np

    pieces = ((left, right, left + right.removeprefix(prefix)) for left, right in pairs)
    ids = [vocab.get(piece) for piece in chain.from_iterable(pieces)]
    if None in ids:
        raise _not_of_vocabulary(pairs, vocab, prefix=prefix, path=path)
    return np.array(ids, np.uint32)


def _not_of_vocabulary(
    pairs: Sequence[tuple[str, str]], vocab: Mapping[str, int], *, prefix: str, path: Path | str
) -> ModelFormatError:
    """Return the error for the first merge of which a piece is missing."""
    for number, (left, right) in enumerate(pairs):
        place = f"{path}, merge {number}"
        for part in (left, right):
            if part not in vocab:
                return ModelFormatError(place, "pieces of the vocabulary", f"{part!a}, which is not in it")
        whole = left + right.removeprefix(prefix)
        if whole not in vocab:
            found = f"{left!a} and {right!a}, which make {whole!a}"
            return ModelFormatError(place, "a merge that makes a piece of the vocabulary", found)
    raise AssertionError("all pieces are in the vocabulary")


def merge_ids(model: Mapping[str, Any], *, path: Path | str = "") -> NDArray[np.uint32]:
    """Return the left, the right and the merged id of each merge of a model, uint32[n, 3].

    Raises:
        ModelFormatError: a merge does not belong to the vocabulary.

    >>> merge_ids({"vocab": {"b": 1, "a": 0, "abb": 3, "ab": 2}, "merges": ["a b", "ab b"]}).tolist()
    [[0, 1, 2], [2, 1, 3]]
    """
    merges = model["merges"]
    if isinstance(merges, CheckedMerges) and merges.vocab is model["vocab"]:
        return merges.ids
    return check_bpe(model, path=path).ids


def repeats_a_merge(ids: NDArray[np.uint32]) -> bool:
    """Whether a pair is merged twice. Takes the ids of `merge_ids`."""
    import numpy as np

    pairs = np.sort(ids[:, 0].astype(np.uint64) << np.uint64(32) | ids[:, 1])
    return bool((pairs[1:] == pairs[:-1]).any())


def merge_pairs(model: Mapping[str, Any], *, path: Path | str) -> list[tuple[str, str]]:
    """Return the merges as pairs; each may be a string, a list, or a pair already. Raises `ModelFormatError`."""
    merges = model.get("merges")
    if isinstance(merges, CheckedMerges):
        return merges.pairs
    if not isinstance(merges, list):
        raise ModelFormatError(path, "a list of merges", "none")
    if (well_formed := _pairs_of_one_spelling(merges)) is not None:
        return well_formed
    pairs: list[tuple[str, str]] = []
    for number, merge in enumerate(merges):
        parts = merge.split(" ") if type(merge) is str else merge
        if type(parts) is not list or len(parts) != 2:
            raise _not_two_pieces(merge, f"{path}, merge {number}")
        left, right = parts
        if not (left and right and type(left) is str and type(right) is str):
            raise _not_two_pieces(merge, f"{path}, merge {number}")
        pairs.append((left, right))
    return pairs


def _pairs_of_one_spelling(merges: list[Any]) -> list[tuple[str, str]] | None:
    """Return the pairs if all merges are strings, or all lists, of two pieces, else None; fast for a million merges."""
    kinds = set(map(type, merges))
    if kinds == {tuple}:  # as other formats have them; JSON has no tuples
        return merges
    if kinds == {str}:
        pairs: list[Any] = [tuple(merge.split(" ")) for merge in merges]
    elif kinds == {list}:
        pairs = list(map(tuple, merges))
        if set(map(type, chain.from_iterable(pairs))) != {str}:
            return None
    else:
        return None
    return pairs if set(map(len, pairs)) == {2} and all(map(all, pairs)) else None


def _not_two_pieces(merge: object, place: str) -> ModelFormatError:
    return ModelFormatError(place, "two pieces", f"{merge!a:.60}")


def _check_model(model: Mapping[str, Any]) -> None:
    if (model.get("type") or "BPE") != "BPE" or "merges" not in model:
        raise NotNativeError(
            f"the native kernel runs byte-level BPE, and this is {model.get('type') or 'something else'}"
        )
    if model.get("dropout"):
        raise NotNativeError("it skips merges at random (dropout)")
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise NotNativeError(f"its {key.replace('_', ' ')} is {model[key]!r}")


def _pattern(pre_tokenizer: Mapping[str, Any] | None) -> tuple[str, str | None]:
    """Return the name and text of the split pattern that a pre-tokenizer uses."""
    splitters = steps(pre_tokenizer)
    if not any(step.get("type") == "ByteLevel" for step in splitters):
        raise NotNativeError("its pre-tokenizer does not map text to bytes")
    if splitters[-1].get("type") != "ByteLevel":
        raise NotNativeError(f"it splits in several steps ({_kinds(splitters)})")
    *before, byte_level = splitters
    if byte_level.get("add_prefix_space"):
        raise NotNativeError("it prepends a space to the text")
    uses_regex = byte_level.get("use_regex", True)
    if not before:
        name = "gpt2" if uses_regex else "none"
        return name, known_pattern(name)[1]
    if len(before) > 1 or uses_regex or before[0].get("type") != "Split":
        raise NotNativeError(f"it splits in several steps ({_kinds(splitters)})")
    return _split_pattern(before[0])


def _split_pattern(split: Mapping[str, Any]) -> tuple[str, str]:
    behavior = (split.get("behavior"), bool(split.get("invert")))
    if behavior not in {("Isolated", False), ("Removed", True)}:
        raise NotNativeError(f"its split is {behavior[0]}{', inverted' if behavior[1] else ''}")
    text = (split.get("pattern") or {}).get("Regex")
    if not isinstance(text, str):
        raise NotNativeError("it splits at a fixed string, not by a pattern")
    name, known = known_pattern(text)
    return name, text if known is None else known


def _normalization(normalizer: Mapping[str, Any] | None) -> str | None:
    normalizers = steps(normalizer)
    kinds = [step.get("type") for step in normalizers]
    if kinds in ([], ["NFC"]):
        return "nfc" if kinds else None
    raise NotNativeError(f"it normalizes the text ({_kinds(normalizers)})")


def _post_processing(document: Mapping[str, Any]) -> PostProcessing:
    """Return the post-processing if the library does exactly what the document says."""
    try:
        parsed = parse_post_processing(document)
    except UnknownPostProcessingError as error:
        raise NotNativeError(str(error)) from None
    if parsed.truncation is not None:
        written = max(template_size(parsed.template, pair=pair) for pair in (False, True))
        if parsed.truncation.max_length - written <= parsed.truncation.stride:
            raise NotNativeError("it truncates to fewer tokens than its template and stride need")
    return parsed


def _tokens(vocab: Mapping[str, int], specials: Mapping[str, int]) -> tuple[bytes | None, ...]:
    """Return the bytes of each id; special tokens are gaps, since no text becomes one by merging."""
    tokens: list[bytes | None] = [None] * (max([*vocab.values(), *specials.values()]) + 1)
    for (piece, id), data in zip(vocab.items(), all_from_byte_level(vocab), strict=True):
        if piece in specials:
            continue
        if data is None:
            raise NotNativeError(f"its token {piece!r} is not in the byte-level alphabet")
        tokens[id] = data
    present = {token for token in tokens if token is not None and len(token) == 1}
    if len(present) != 256:
        raise NotNativeError(f"it has no token for {256 - len(present)} of the 256 bytes")
    return tuple(tokens)


def _merges(
    model: Mapping[str, Any], specials: Mapping[str, int], *, path: Path | str, normalizers: Sequence[str]
) -> tuple[tuple[int, int, int], ...]:
    """Return the merges by ids, without those that take or make a special token."""
    vocab, ids = model["vocab"], merge_ids(model, path=path)
    if repeats_a_merge(ids):
        raise NotNativeError("its list of merges contains a merge twice")
    doubtful = {text for text in specials if text in vocab and not is_hidden(text, normalizers=normalizers)}
    if doubtful:
        used = {text for pair in merge_pairs(model, path=path) for text in (*pair, "".join(pair))}
        for text in doubtful if model.get("ignore_merges") else doubtful & used:
            raise NotNativeError(f"normalization may turn other text into its added token {text!r}")
    special_ids = {vocab[text] for text in specials if text in vocab}
    merges = zip(*ids.T.tolist(), strict=True)
    if special_ids.isdisjoint(ids.ravel().tolist()):
        return tuple(merges)
    return tuple([merge for merge in merges if special_ids.isdisjoint(merge)])


def _kinds(parts: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(str(part.get("type")) for part in parts)
