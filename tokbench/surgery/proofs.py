"""Checks before anything is written: the tokens, the merges and the segmentations before and after.

Pruning is safe because of two facts, which are checked here nevertheless. A token whose parts all remain is merged as
before, since fewer merges compete with its own. Hence a pre-token whose tokens all remain keeps its tokens.

After an extension, only new tokens change a segmentation, and only for the better. If new pieces are merged last, a
text keeps its tokens, or some of them are joined. Under a Unigram or WordPiece, a text whose segmentation has no new
piece keeps its tokens: a best sum or longest match among all pieces that uses old pieces only was also the best among
the old ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.wording import quoted
from tokbench.errors import SurgeryError
from tokbench.surgery.leaves import last_merge
from tokbench.surgery.shared_tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.surgery.bpe_document import BpeDocument
    from tokbench.surgery.id_map import IdMap

Rule = Callable[["list[int]", "list[int]"], "str | None"]
"""A function of the ids of a text before and after that returns a description of the fault; None if there is none."""

MOST_TEXTS = 1024


@dataclass(frozen=True, slots=True)
class SegmentationProof:
    """The amount of text on which segmentations were compared with the definition.

    Attributes:
        texts: number of texts; for a byte-level BPE, of texts without added tokens.
        unchanged: number of distinct pre-tokens or words whose tokens all remain, and are the same.
        changed: number of other pre-tokens or words: their tokens are the result of the remaining merges, or decode to
            the same text.
    """

    texts: int
    unchanged: int
    changed: int

    def to_json(self) -> dict[str, int]:
        """Return the JSON of the proof."""
        return {
            "texts": self.texts,
            "unchanged_pretokens": self.unchanged,
            "changed_pretokens": self.changed,
        }


def check_tokens(old: Tokenizer, new: Tokenizer, id_map: IdMap) -> int:
    """Check that tokens keep their bytes and that single-byte tokens remain; return the number of tokens.

    Raises:
        SurgeryError: the check fails.
    """
    for new_id, old_id in enumerate(id_map.new_to_old):
        before, after = old.token_bytes(old_id), new.token_bytes(new_id)
        if before != after:
            raise wrong(f"token {old_id}, {before!r}, would be {after!r} with the id {new_id}")
    for byte in range(256):
        if old.token_id(bytes([byte])) is not None and new.token_id(bytes([byte])) is None:
            raise wrong(f"byte 0x{byte:02X} would have no token")
    return len(id_map.new_to_old)


def check_reachable(old: BpeDocument, new: BpeDocument) -> int:
    """Check that merging produces each token from the same two tokens as before; return the number of these tokens.

    Raises:
        SurgeryError: a token can no longer be produced, or is produced from other tokens.
    """
    made = 0
    for piece, id in new.vocab.items():
        if piece in new.added or id not in new.parts.parts:
            continue
        pair = last_merge(piece, new.ranks)
        # A token that merging could not produce before is exempt; this slow check is needed for few tokens.
        if pair is None:
            if last_merge(piece, old.ranks) is not None:
                raise wrong(f"merging would no longer make the token {piece!r}")
            continue
        if old.vocab[pair[0]] not in old.parts.parts.get(old.vocab[piece], ()):
            raise wrong(f"merging would build the token {piece!r} from other parts than before")
        made += 1
    return made


def check_segmentations(
    texts: Iterable[str],
    *,
    tokenizers: tuple[Tokenizer, Tokenizer],
    documents: tuple[BpeDocument, BpeDocument],
    new_document: Mapping[str, Any],
    id_map: IdMap,
) -> SegmentationProof:
    """Compare the segmentation of texts with the definition.

    Args:
        texts: texts of a corpus.
        tokenizers: the old and the new tokenizer.
        documents: their vocabularies and merges.
        new_document: the new `tokenizer.json`, by whose normalizer and pre-tokenizer the library splits the texts.
        id_map: the map from the old ids to the new ids.

    Raises:
        SurgeryError: the ids of a tokenizer differ from the definition, or a pre-token changes though all its
            tokens remain.
    """
    split = _splitting(new_document)
    known = _SegmentationCache(*documents, id_map)
    old, new = tokenizers
    compared = 0
    for text in texts:
        if any(added in text for added in documents[0].added):
            continue
        pairs = [known.segmented(pretoken) for pretoken in split(text)]
        before = [id for ids, _ in pairs for id in ids]
        after = [id for _, ids in pairs for id in ids]
        if old.encode(text) != before:
            raise wrong(
                f"merging by definition gives different ids than the tokenizer has for {quoted(text)}"
            )
        if new.encode(text) != after:
            raise wrong(f"the surviving merges give different ids for {quoted(text)}")
        compared += 1
    return SegmentationProof(compared, unchanged=known.unchanged, changed=known.changed)


@dataclass
class _SegmentationCache:
    """A cache of the old and new ids of pre-tokens."""

    before: BpeDocument
    after: BpeDocument
    id_map: IdMap
    unchanged: int = 0
    changed: int = 0
    _known: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)

    def segmented(self, pretoken: str) -> tuple[list[int], list[int]]:
        """Return the old and the new ids. Raises `SurgeryError` if they differ though all tokens remain."""
        if pretoken not in self._known:
            before, after = self.before.segment(pretoken), self.after.segment(pretoken)
            mapped = [self.id_map.new(id) for id in before]
            if None in mapped:
                self.changed += 1
            elif mapped == after:
                self.unchanged += 1
            else:
                raise wrong(
                    f"the pre-token {pretoken!r} gets different tokens, although all of its tokens remain"
                )
            self._known[pretoken] = before, after
        return self._known[pretoken]


def _splitting(document: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """Return a function that splits a text into pre-tokens in byte-level characters, by the library."""
    import orjson
    import tokenizers

    opened = tokenizers.Tokenizer.from_buffer(orjson.dumps(document))

    def split(text: str) -> list[str]:
        normalized = text if opened.normalizer is None else opened.normalizer.normalize_str(text)
        return [piece for piece, _ in opened.pre_tokenizer.pre_tokenize_str(normalized)]

    return split


def wrong(reason: str) -> SurgeryError:
    """Return the error for a failed proof."""
    return SurgeryError(reason, hint="nothing was written; this is a fault of tokbench, please report it")


def check_words(
    texts: Iterable[str], *, tokenizers: tuple[Tokenizer, Tokenizer], id_map: IdMap
) -> SegmentationProof:
    """Compare the tokens of texts and of their distinct words before and after pruning.

    A word whose tokens all remain keeps them, since removing pieces cannot create a better segmentation. Any other
    word must decode to the same text as before, so that no part of it has become unknown.

    Args:
        texts: texts of a corpus, of which the first `MOST_TEXTS` are used.
        tokenizers: the old and the new tokenizer.
        id_map: the map from the old ids to the new ids.

    Raises:
        SurgeryError: a word or text changes though all its tokens remain, or decodes to another text.
    """
    old, new = tokenizers

    def renumbered(ids: list[int]) -> list[int | None]:
        return [id_map.new(id) for id in ids]

    def fault(before: list[int], after: list[int]) -> str | None:
        if None not in renumbered(before):
            return "would get different tokens, although all of its tokens remain"
        if old.decode_bytes(before) != new.decode_bytes(after):
            return "would decode to a different text"
        return None

    taken = list(islice(texts, MOST_TEXTS))
    return check_texts(taken, tokenizers=tokenizers, rule=fault, renumbered=renumbered)


def check_texts(
    texts: Sequence[str],
    *,
    tokenizers: tuple[Tokenizer, Tokenizer],
    rule: Rule,
    renumbered: Callable[[list[int]], Sequence[int | None]] = list,
    threads: int | None = None,
) -> SegmentationProof:
    """Compare the tokens of texts and of their distinct words before and after.

    Args:
        texts: texts of a corpus.
        tokenizers: the old and the new tokenizer.
        rule: decides whether changed ids are a fault.
        renumbered: returns the new ids of the tokens of old ids, None for tokens that are removed.
        threads: number of threads for encoding.

    Raises:
        SurgeryError: the rule is violated.
    """

    def count_unchanged(texts: Sequence[str]) -> int:
        old, new = (tokenizer.encode_batch(texts, threads=threads) for tokenizer in tokenizers)
        unchanged = 0
        for number, text in enumerate(texts):
            before, after = old[number].tolist(), new[number].tolist()
            if renumbered(before) == after:
                unchanged += 1
            elif reason := rule(before, after):
                raise wrong(f"{quoted(text)} {reason}")
        return unchanged

    words = list(dict.fromkeys(word for text in texts for word in text.split()))
    count_unchanged(texts)
    unchanged = count_unchanged(words)
    return SegmentationProof(len(texts), unchanged=unchanged, changed=len(words) - unchanged)


_HALF_UNIT = 2.0**-24
"""Maximum relative rounding error of a single-precision addition."""


class Coarser:
    """The rule that a text has no new token boundaries.

    Args:
        old: the old tokenizer.
        new: the new tokenizer.
        unknown: id of the unknown token; texts with it are exempt, since parts of them may be known now.
    """

    def __init__(self, old: Tokenizer, new: Tokenizer, *, unknown: int | None = None) -> None:
        self._old, self._new = _sizes(old), _sizes(new)
        self._unknown = unknown

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """Return a description of the fault; None if there is none."""
        if self._unknown in before:
            return None
        old, new = np.cumsum(self._old[before]), np.cumsum(self._new[after])
        if old[-1:] != new[-1:] or not np.isin(new, old, assume_unique=False).all():
            return "would get new token boundaries"
        return None


@dataclass(frozen=True, slots=True)
class OnlyByNewPieces:
    """The rule that changed texts contain a new token, decode to the same text, and have no new unknown token.

    Attributes:
        old: the old tokenizer.
        new: the new tokenizer.
        first_id: id of the first new token.
        unknown: id of the unknown token; None if there is none.
    """

    old: Tokenizer
    new: Tokenizer
    first_id: int
    unknown: int | None

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """Return a description of the fault; None if there is none.

        Raises:
            SurgeryError: a known text becomes unknown.
        """
        if max(after, default=0) < self.first_id:
            return "would have different tokens, though none of them is new"
        if self.unknown in before:
            return None
        if self.unknown in after:
            raise SurgeryError(
                f"{quoted(self.old.decode(before))} would become unknown: what is left after a new piece "
                f"is not a piece",
                hint="leave that word out, or name one that ends where others begin",
            )
        if self.old.decode_bytes(before) != self.new.decode_bytes(after):
            return "would decode to a different text"
        return None


@dataclass(frozen=True, slots=True)
class LikelierByNewPieces:
    """The rule for a Unigram: `OnlyByNewPieces`, and the sum of scores does not fall.

    Attributes:
        changes: the first part of the rule.
        scores: score of each id, None for other tokens; sums of texts with such tokens are not compared.
    """

    changes: OnlyByNewPieces
    scores: Sequence[float | None]

    def __call__(self, before: list[int], after: list[int]) -> str | None:
        """Return a description of the fault; None if there is none."""
        if (reason := self.changes(before, after)) is not None:
            return reason
        old, new = ([self.scores[id] for id in ids] for ids in (before, after))
        if None in old or None in new:
            return None
        was, now = sum(filter(None, old)), sum(filter(None, new))
        # The library rounds every intermediate sum.
        if now < was - (len(before) + len(after)) * abs(was) * _HALF_UNIT:
            return f"would have the sum of scores {now:.4f}, and had {was:.4f}"
        return None


def _sizes(tokenizer: Tokenizer) -> NDArray[np.int64]:
    found = np.zeros(tokenizer.info.vocab_size, np.int64)
    for id, data in tokens_of(tokenizer):
        found[id] = len(data)
    return found
