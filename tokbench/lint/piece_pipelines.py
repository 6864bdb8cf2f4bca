"""The tokenizers that transformers makes of a SentencePiece model, and their differences from the model itself.

The fast classes do not run the model: they build a pipeline around its pieces, and a BPE's merges from the pieces. The
merges of version 5 are in the order of ids, and those of version 4 in the order of scores, as in the model.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.lint.agreement import disagreement
from tokbench.lint.class_pipeline import SEE_LINT, shown_tokens, takes_file_as_it_is, tokenizer_of
from tokbench.opening.config_files import CONFIG
from tokbench.opening.piece_classes import class_of_folder
from tokbench.opening.recognition import Format
from tokbench.opening.sentencepiece_classes import Declared, Pipeline, class_pipeline
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.lint.target import LintTarget

_BPE_CLASSES = ("Llama", "CodeLlama", "Gemma")
_UNIGRAM_CLASSES = ("T5", "XLMRoberta", "Camembert", "MBart", "MBart50", "Pegasus", "BigBird", "DebertaV2")
_CLOSE = ("T5", "XLMRoberta", "Camembert", "Gemma")
"""Classes that differ from a model of theirs in rare texts only, or in none."""
_RARE = 20
"""A difference is rare if fewer than one of so many texts show it."""
_SPECIALS = 4


@dataclass(frozen=True, slots=True)
class PieceClass:
    """A class of transformers that makes a tokenizer of a SentencePiece model.

    Attributes:
        name: its name, without "Fast".
        version: the version of transformers.
        pipeline: the name of its pipeline in `class_pipeline`.
        by_score: whether the merges of a BPE are in the order of the scores, as in the model, or in that of the ids.
        setting: the setting that it follows, as ` with legacy=false`, or "".
    """

    name: str
    version: int
    pipeline: str
    by_score: bool = False
    setting: str = ""

    def __str__(self) -> str:
        return f"the {self.name} of transformers {self.version}{self.setting}"


@dataclass(frozen=True, slots=True)
class Example:
    """A text with its tokens by a model, and by a class."""

    text: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class ClassDifference:
    """The differences of a class from a target's model.

    Attributes:
        made_by: the class.
        examples: a text, and one with a special token if they differ around those, too.
        differing: number of texts tried on which they differ.
        tried: number of texts tried.
        has_merges: whether the class makes merges.
    """

    made_by: PieceClass
    examples: tuple[Example, ...]
    differing: int
    tried: int
    has_merges: bool

    @property
    def is_rare(self) -> bool:
        """Whether hardly any text shows the difference."""
        return self.differing * _RARE < self.tried


def classes_of_pieces(target: LintTarget) -> tuple[PieceClass, ...]:
    """Return the classes that make a tokenizer of a target's model by themselves, as far as they are known here."""
    source = target.opened.source
    name = class_of_folder(source) if source.format is Format.SENTENCEPIECE else None
    if name is None or target.sentencepiece is None:
        return ()
    short = name.removesuffix("Tokenizer")
    settings = json_beside(source.files[0].parent / CONFIG)
    is_bpe = target.sentencepiece.model_type is ModelType.BPE
    if short not in (_BPE_CLASSES if is_bpe else _UNIGRAM_CLASSES):
        return ()
    found = []
    is_new = short == "Llama" and settings.get("legacy") is False
    if is_new:
        found.append(PieceClass(name, 4, short, by_score=True, setting=" with legacy=false"))
    if not takes_file_as_it_is(target):
        found.append(PieceClass(name, 5, short))
    elif is_new:  # the class for no model in particular, which follows the model but for this setting
        found.append(PieceClass("TokenizersBackend", 5, short, by_score=True, setting=" with legacy=false"))
    return tuple(found)


def notes_on_classes(target: LintTarget) -> Iterator[str]:
    """Yield a sentence about each class that gives other ids than a target's model, without looking for a text."""
    model = target.sentencepiece
    for made_by in classes_of_pieces(target):
        assert model is not None
        if made_by.pipeline not in _CLOSE or (
            made_by.pipeline == "Gemma" and model.normalizer["add_dummy_prefix"]
        ):
            merges = " and merges" if model.model_type is ModelType.BPE else ""
            yield (
                f"{made_by} makes a pipeline{merges} of its own of this model: texts may have other ids there, "
                f"{SEE_LINT}"
            )


def differences_of_classes(target: LintTarget) -> Iterator[ClassDifference]:
    """Yield the classes that give other ids than a target's model, each with a text."""
    for made_by in classes_of_pieces(target):
        assert target.sentencepiece is not None
        document = class_document(target, target.sentencepiece, made_by)
        other = tokenizer_of(document, target)
        if other is None:
            continue
        found = disagreement(target.tokenizer, other, template=False, specials=False)
        around = _around_special_tokens(target, other)
        plain = [] if found is None else [_example(target, found.text, found.ours, found.theirs)]
        if examples := (*plain, *around):
            yield ClassDifference(
                made_by,
                examples,
                differing=len(around) if found is None else found.differing,
                tried=len(around) if found is None else found.tried,
                has_merges="merges" in document["model"],
            )


def _around_special_tokens(target: LintTarget, other: Tokenizer) -> tuple[Example, ...]:
    """Return the first text with a special token that has other ids, if there is one."""
    for special in islice(target.tokenizer.info.special_tokens, _SPECIALS):
        for text in (f"{special}a", f"{special} a", f"a {special} b"):
            ours, theirs = (
                each.encode(text, special=SpecialPolicy.ENCODE) for each in (target.tokenizer, other)
            )
            if ours != theirs:
                return (_example(target, text, ours, theirs),)
    return ()


def _example(target: LintTarget, text: str, ours: Sequence[int], theirs: Sequence[int]) -> Example:
    return Example(text, shown_tokens(target, ours), shown_tokens(target, theirs))


def class_document(target: LintTarget, model: SentencePieceFile, made_by: PieceClass) -> dict[str, Any]:
    """Return the tokenizer.json that a class makes of a model; the text of its unknown token stays text."""
    table = model.normalizer["precompiled_charsmap"]
    rules = {"type": "Precompiled", "precompiled_charsmap": b64encode(table).decode()} if table else None
    folder = target.opened.source.files[0].parent
    pipeline = class_pipeline(made_by.pipeline, Declared(rules, json_beside(folder / CONFIG)))
    assert pipeline is not None
    flags = {token.content: token.flags() for token in target.opened.source.config.added_tokens}
    return {
        "version": "1.0",
        "added_tokens": [
            {
                **AddedToken(id=id, content=piece.text, special=piece.type is PieceType.CONTROL).listed(),
                **flags.get(piece.text, {}),
            }
            for id, piece in enumerate(model.pieces)
            if piece.type in (PieceType.CONTROL, PieceType.USER_DEFINED)
        ],
        **pipeline.parts(),
        "post_processor": None,
        "model": _model(model, pipeline, made_by),
    }


def _model(model: SentencePieceFile, pipeline: Pipeline, made_by: PieceClass) -> dict[str, Any]:
    unknown = next(id for id, piece in enumerate(model.pieces) if piece.type is PieceType.UNKNOWN)
    if model.model_type is not ModelType.BPE:
        return {
            "type": "Unigram",
            "unk_id": unknown,
            "vocab": [[piece.text, piece.score] for piece in model.pieces],
            "byte_fallback": pipeline.byte_fallback,
        }
    vocab = {piece.text: id for id, piece in enumerate(model.pieces)}
    scores = [piece.score for piece in model.pieces] if made_by.by_score else None
    return {
        "type": "BPE",
        "unk_token": None
        if made_by == PieceClass("LlamaTokenizer", 5, "Llama")
        else model.pieces[unknown].text,
        "fuse_unk": True,
        "byte_fallback": pipeline.byte_fallback,
        "vocab": vocab,
        "merges": merges_of_pieces(vocab, scores=scores),
    }


def merges_of_pieces(vocab: Mapping[str, int], *, scores: Sequence[float] | None) -> list[list[str]]:
    """Return the merges that transformers makes of pieces: each pair of pieces that form a piece.

    Args:
        vocab: piece → id, in the order of ids.
        scores: the score of each id, by which version 4 orders merges, from high to low; None for the order of ids.

    >>> merges_of_pieces({"a": 0, "b": 1, "ab": 2, "abb": 3, "bb": 4}, scores=None)
    [['a', 'b'], ['a', 'bb'], ['ab', 'b'], ['b', 'b']]
    >>> merges_of_pieces({"a": 0, "b": 1, "ab": 2, "abb": 3, "bb": 4}, scores=[0, 0, -9, -8, -7])
    [['b', 'b'], ['ab', 'b'], ['a', 'bb'], ['a', 'b']]
    """
    found = []
    for piece, id in vocab.items():
        pairs = [
            (vocab[left], vocab[right], left, right)
            for left, right in ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
            if left in vocab and right in vocab
        ]
        rank = id if scores is None else scores[id]
        found += [(rank, len(left), len(right), left, right) for _, _, left, right in sorted(pairs)]
    found.sort(key=lambda merge: merge[:3], reverse=scores is not None)
    return [[left, right] for *_, left, right in found]
