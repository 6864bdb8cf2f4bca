"""The model of a tokenizer for the analysis of reachability: spellings of tokens, and proofs by its algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import SentencePieceModel
from tokbench.core.wording import quoted
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.huggingface.tokenizer_json import byte_of
from tokbench.lint.reachability.merging import merge_failure, rules_from_merges, rules_from_ranks
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.lint.reachability.verdicts import Cause, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.lint.reachability.merging import MergeFailure, MergeRules
    from tokbench.lint.target import LintTarget

_SURELY_LESS = 1e-3
"""Minimum difference between scores for a proof, above the rounding errors of 32-bit sums over a long text."""


@dataclass(frozen=True, slots=True)
class Model:
    """Base class of models, which prove tokens unreachable by the algorithm alone; this one proves nothing.

    Attributes:
        spellings: id → token as the algorithm sees it: bytes or a piece.
    """

    spellings: Mapping[int, str | bytes]

    def disproof(self, id: int) -> Unreachable | None:  # noqa: ARG002
        """Return a proof that the algorithm never produces a token; None if it may."""
        return None

    def designed(self, id: int) -> str | None:  # noqa: ARG002
        """Return the purpose of a token that is not a fault if it never occurs; None for other tokens."""
        return None

    def proposals(self, id: int) -> Iterator[str]:  # noqa: ARG002
        """Yield further texts in which the token may occur, specific to the algorithm."""
        return iter(())


@dataclass(frozen=True, slots=True)
class BpeModel(Model):
    """BPE of any kind.

    Attributes:
        byte_rules: its merges if tokens are bytes, else None.
        text_rules: its merges if tokens are pieces, else None.
        whole_tokens_first: whether a pre-token in the vocabulary becomes that token without merging.
        byte_fallback: ids of the byte-fallback tokens.
        is_byte_level: whether pieces are spelled in byte-level characters.
        unknown: the unknown token; None if there is none.
    """

    byte_rules: MergeRules[bytes] | None
    text_rules: MergeRules[str] | None
    whole_tokens_first: bool = False
    byte_fallback: frozenset[int] = frozenset()
    is_byte_level: bool = False
    unknown: str | None = None

    def disproof(self, id: int) -> Unreachable | None:
        """Return a proof that merging never produces a token; None if it may."""
        token = self.spellings.get(id)
        if token is None or self.whole_tokens_first or id in self.byte_fallback:
            return None
        if isinstance(token, bytes):
            return (
                None if self.byte_rules is None else _disproof_of(id, merge_failure(self.byte_rules, token))
            )
        return None if self.text_rules is None else _disproof_of(id, merge_failure(self.text_rules, token))

    def designed(self, id: int) -> str | None:
        """Return the purpose of a byte token or the unknown token."""
        if id in self.byte_fallback:
            return "a byte of characters that all have a piece"
        if self.unknown is not None and self.spellings.get(id) == self.unknown:
            return "it stands for characters that no piece covers"
        return "one of the bytes from which all others are merged" if self._is_base_byte(id) else None

    def _is_base_byte(self, id: int) -> bool:
        token = self.spellings.get(id)
        if isinstance(token, bytes):
            return len(token) == 1
        rules = self.text_rules if self.is_byte_level else None
        return rules is not None and token is not None and len(rules.symbols(token) or ()) == 1


@dataclass(frozen=True, slots=True)
class UnigramModel(Model):
    """Unigram: the segmentation with the highest sum of scores.

    Attributes:
        scores: piece → score, for pieces that segmentation may use.
        user_defined: pieces that always match, regardless of their scores.
        byte_fallback: ids of the byte-fallback tokens.
    """

    scores: Mapping[str, float]
    user_defined: frozenset[str] = frozenset()
    byte_fallback: frozenset[int] = frozenset()

    def disproof(self, id: int) -> Unreachable | None:
        """Return a proof that other pieces always have a better sum than a piece; None if there is none."""
        piece = self.spellings.get(id)
        if not isinstance(piece, str) or id in self.byte_fallback or piece not in self.scores:
            return None
        if piece in self.user_defined:
            return None
        parts, score = self._best_parts(piece)
        if parts and score > self.scores[piece] + _SURELY_LESS:
            shown = " + ".join(quoted(part) for part in parts)
            return Unreachable(
                id,
                Cause.BETTER_PARTS,
                f"other pieces have a higher score: {shown} {score:.4f}, against {self.scores[piece]:.4f}",
                {"parts": parts, "parts_score": score, "score": self.scores[piece]},
            )
        return None

    def _best_parts(self, piece: str) -> tuple[list[str], float]:
        best: list[tuple[float, int]] = [(0.0, 0)]
        for stop in range(1, len(piece) + 1):
            ways = [
                (best[start][0] + self.scores[piece[start:stop]], start)
                for start in range(stop)
                if piece[start:stop] in self.scores and stop - start < len(piece)
            ]
            best.append(max(ways, default=(float("-inf"), -1)))
        if best[-1][1] < 0 or best[-1][0] == float("-inf"):
            return [], float("-inf")
        parts, stop = [], len(piece)
        while stop:
            start = best[stop][1]
            parts.append(piece[start:stop])
            stop = start
        return parts[::-1], best[-1][0]

    def designed(self, id: int) -> str | None:
        """Return the purpose of a byte token."""
        return "a byte of characters that all have a piece" if id in self.byte_fallback else None


@dataclass(frozen=True, slots=True)
class WordPieceModel(Model):
    """WordPiece: longest match from left to right.

    Attributes:
        pieces: all pieces.
        prefix: prefix of pieces that continue words.
        longest: maximum number of characters of a word.
    """

    pieces: frozenset[str]
    prefix: str
    longest: int

    def disproof(self, id: int) -> Unreachable | None:
        """Return a proof for a piece that is longer than words may be; None for others, whose context decides."""
        piece = str(self.spellings[id])
        if len(piece.removeprefix(self.prefix)) > self.longest:
            return Unreachable(
                id, Cause.LONGER_MATCH, f"it is longer than the {self.longest} characters a word may have"
            )
        return None

    def designed(self, id: int) -> str | None:
        """Return the purpose of a reserved token such as `[unused1]`."""
        piece = str(self.spellings[id])
        return "a reserved placeholder" if piece.startswith("[unused") and piece.endswith("]") else None

    def proposals(self, id: int) -> Iterator[str]:
        """Yield words that end with a continuing piece, after a first piece that no longer match replaces."""
        piece = str(self.spellings[id])
        if not piece.startswith(self.prefix):
            return
        rest = piece.removeprefix(self.prefix)
        for first in self._first_pieces:
            if not any(first + rest[:size] in self.pieces for size in range(1, len(rest) + 1)):
                yield first + rest

    @property
    def _first_pieces(self) -> Sequence[str]:
        return [piece for piece in sorted(self.pieces, key=len) if piece.isalnum()][:2000]


def model_of(target: LintTarget) -> Model:
    """Return the model of a target, as far as its files define it."""
    if target.bpe is not None:
        return _byte_level(target.bpe)
    if isinstance(target.description, SentencePieceModel):
        return _sentencepiece(target.description.proto)
    if target.document is not None:
        return _of_document(target.document)
    return Model(target.ordinary)


def _byte_level(bpe: ByteLevelBpe) -> BpeModel:
    tokens = {id: token for id, token in enumerate(bpe.tokens) if token is not None}
    present = set(tokens.values())

    def symbols(token: bytes) -> list[bytes] | None:
        found = [token[place : place + 1] for place in range(len(token))]
        return found if present.issuperset(found) else None

    if bpe.merges is None:
        rules = rules_from_ranks({token: id for id, token in tokens.items()}, symbols)
    else:
        merges: dict[tuple[bytes, bytes], tuple[float, bytes]] = {}
        for rank, (left, right, made) in enumerate(bpe.merges):
            merges.setdefault((tokens[left], tokens[right]), (rank, tokens[made]))
        rules = rules_from_merges(merges, symbols)
    return BpeModel(tokens, rules, None, whole_tokens_first=bpe.whole_tokens_first)


def _of_document(document: Mapping[str, Any]) -> Model:
    model = document["model"]
    kind, vocab = model.get("type"), model["vocab"]
    if isinstance(vocab, list):
        return _unigram({id: (piece, score) for id, (piece, score) in enumerate(vocab)})
    spellings = {id: piece for piece, id in vocab.items()}
    if kind == "BPE" or "merges" in model:
        return _bpe_of_document(model, spellings, is_byte_level=DocumentSteps(document).is_byte_level)
    if kind == "WordPiece" or "max_input_chars_per_word" in model:
        return WordPieceModel(
            spellings,
            frozenset(vocab),
            prefix=model.get("continuing_subword_prefix") or "##",
            longest=model.get("max_input_chars_per_word") or 100,
        )
    return Model(spellings)


def _bpe_of_document(model: Mapping[str, Any], spellings: Mapping[int, str], *, is_byte_level: bool) -> Model:
    from tokbench.opening.native_bpe import merge_pairs

    if model.get("continuing_subword_prefix") or model.get("dropout"):
        return Model(spellings)
    suffix, vocab = model.get("end_of_word_suffix") or "", model["vocab"]

    def symbols(token: str) -> list[str] | None:
        ends = bool(suffix) and token.endswith(suffix)
        found = list(token.removesuffix(suffix) if ends else token)
        if ends and found:
            found[-1] += suffix
        return found if found and all(symbol in vocab for symbol in found) else None

    merges: dict[tuple[str, str], tuple[float, str]] = {}
    for rank, (left, right) in enumerate(merge_pairs(model, path="")):
        merges[left, right] = (rank, left + right)  # of equal merges, the library keeps the last one
    fallback = {id for id, piece in spellings.items() if model.get("byte_fallback") and byte_of(piece)}
    return BpeModel(
        spellings,
        None,
        rules_from_merges(merges, symbols),
        whole_tokens_first=bool(model.get("ignore_merges")),
        byte_fallback=frozenset(fallback),
        is_byte_level=is_byte_level,
        unknown=model.get("unk_token"),
    )


def _sentencepiece(proto: bytes) -> Model:
    file = parse_model(proto)
    normal = (PieceType.NORMAL, PieceType.USER_DEFINED)
    fallback = frozenset(id for id, piece in enumerate(file.pieces) if piece.type is PieceType.BYTE)
    pieces = {id: (piece.text, piece.score) for id, piece in enumerate(file.pieces) if piece.type in normal}
    user_defined = frozenset(piece.text for piece in file.pieces if piece.type is PieceType.USER_DEFINED)
    if file.model_type is ModelType.UNIGRAM:
        return _unigram(pieces, fallback=fallback, user_defined=user_defined)
    spellings = {id: text for id, (text, _) in pieces.items()}
    spellings |= {id: file.pieces[id].text for id in fallback}
    if file.model_type is not ModelType.BPE or any(piece.type is PieceType.UNUSED for piece in file.pieces):
        return Model(spellings)
    ranks = {text: -score for text, score in pieces.values()}

    def symbols(token: str) -> list[str] | None:
        return [token] if token in user_defined else list(token)

    return BpeModel(spellings, None, rules_from_ranks(ranks, symbols), byte_fallback=fallback)


def _unigram(
    pieces: Mapping[int, tuple[str, float]],
    *,
    fallback: frozenset[int] = frozenset(),
    user_defined: frozenset[str] = frozenset(),
) -> UnigramModel:
    return UnigramModel(
        {**{id: piece for id, (piece, _) in pieces.items()}, **dict.fromkeys(fallback, "")},
        {piece: float(score) for piece, score in pieces.values()},
        user_defined=user_defined,
        byte_fallback=fallback,
    )


def _disproof_of(id: int, found: MergeFailure[Any] | None) -> Unreachable | None:
    """Convert a failed merging to a proof in words."""
    if found is None:
        return None
    token, parts = quoted(found.token), " + ".join(map(quoted, found.parts))
    details: dict[str, Any] = {"tokens": [quoted(part) for part in found.parts]}
    if not found.parts:
        return Unreachable(id, Cause.NO_MERGE, f"{token} has a symbol without a token", details)
    if found.wanted is None or found.blocker is None:
        return Unreachable(id, Cause.NO_MERGE, f"no merge makes {token}: its bytes become {parts}", details)
    rank, left, right = found.wanted
    blocker = found.blocker
    details |= {"blocking_rank": blocker.rank, "wanted_rank": rank}
    evidence = (
        f"{token} becomes {parts}: merge {_rank(blocker.rank)} ({quoted(blocker.left)} + {quoted(blocker.right)}) "
        f"comes before merge {_rank(rank)} ({quoted(left)} + {quoted(right)}) and takes a part of it"
    )
    return Unreachable(id, Cause.MERGE_ORDER, evidence, details)


def _rank(rank: float) -> str:
    return f"{rank:,.0f}" if rank == int(rank) else f"{rank}"
