"""Analysis of reachability: cheap checks first, then contexts and proofs for the remaining tokens."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

from tokbench.core.normal_forms import nfc
from tokbench.core.wording import quoted
from tokbench.inspection.vocabulary_tokens import text_of_bytes
from tokbench.lint.reachability.models import BpeModel, model_of
from tokbench.lint.reachability.pattern_automaton import automaton_of, pretokens
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.lint.reachability.verdicts import Cause, Reachability, Unreachable
from tokbench.lint.reachability.witnesses import Neighbours, WitnessSearch, completions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tokbench.lint.reachability.models import Model
    from tokbench.lint.target import LintTarget

_INSIDE = "##"
"""Prefix of pieces that continue words."""
_FEW, _MANY = 12, 4096
"""Number of completions tried for each end of an incomplete token, in the first and in the last attempt."""
_NEIGHBOURS = 256
"""Maximum number of surroundings of an incomplete token that are tried."""
_MOST_PROVED = 1 << 10
"""Maximum number of incomplete tokens whose neighbours are searched for, which may take a second each."""
_BEFORE = (*"aqA1.(~-", "", " ", "\n", "\t", "é", "中", "я", "\u00a0", "  ", "x ", "€", "🧿")
_AFTER = (*"aqA1.)~-", "", " ", "\n", "\t", "é", "中", "я", "\u00a0", "  ", " x", "€", "🧿")
_RARE = "".join(
    chr(point)
    for first in (0x0, 0x80, 0x400, 0x700, 0x1000, 0x2C00, 0xA000, 0xFB00, 0x10000, 0x1F300, 0x2FA00, 0xE0000)
    for point in range(first, first + 0x140)
    if not 0xD800 <= point < 0xE000
)


def analyse(target: LintTarget) -> Reachability:
    """Analyse the reachability of each token that is not an added token; see `tokbench.lint.reachability`."""
    return Analysis(target).run()


class Analysis:
    """The steps of `analyse`.

    Args:
        target: the tokenizer to analyse.
    """

    def __init__(self, target: LintTarget) -> None:
        self.target = target
        self.model: Model = model_of(target)
        self.search = WitnessSearch(target.tokenizer, threads=target.threads)
        self.steps = None if target.document is None else DocumentSteps(target.document)
        pattern = self.steps.pattern if self.steps is not None and target.bpe is None else None
        if target.bpe is not None:
            pattern = target.bpe.pattern
        self.automaton = None if pattern is None else automaton_of(pattern)
        self.unreachable: dict[int, Unreachable] = {}
        self.ids = [id for id in target.ordinary if id in self.model.spellings]
        self._left = self.ids

    def run(self) -> Reachability:
        """Run all steps, each on the tokens that the previous steps left undecided."""
        changed = self._try_alone()
        self._disprove()
        self._disprove_steps()
        self.search.try_texts(_RARE)
        self._try_incomplete(_FEW)
        self._try_surroundings()
        self._try_patterns()
        self._try_incomplete(_MANY)
        self._try_neighbours()
        witnesses = {id: self.search.witnesses[id] for id in self.ids if self.search.has(id)}
        designed = {
            id: reason
            for id in self.ids
            if not self.search.has(id) and (reason := self.model.designed(id)) is not None
        }
        settled = witnesses.keys() | designed.keys()
        return Reachability(
            witnesses=witnesses,
            unreachable={id: self.unreachable[id] for id in sorted(self.unreachable.keys() - settled)},
            by_design=designed,
            undecided=tuple(id for id in self._open() if id not in designed),
            changed_alone=changed,
        )

    def _open(self) -> list[int]:
        """Return the undecided tokens."""
        self._left = [id for id in self.search.missing(self._left) if id not in self.unreachable]
        return self._left

    def _reject(self, id: int, cause: Cause, evidence: str, details: Mapping[str, Any] | None = None) -> None:
        self.unreachable[id] = Unreachable(id, cause, evidence, details or {})

    # --- texts --------------------------------------------------------------------------------

    def _try_alone(self) -> frozenset[int]:
        """Encode each token's own text; return the tokens that decoding and re-encoding alone does not reproduce."""
        texts = {id: text for id in self.ids if (text := self.text(id)) is not None}
        self.search.try_texts(texts.values())
        tokenizer = self.target.tokenizer
        alone = {id: tokenizer.decode([id]) for id in texts}
        encoded = tokenizer.encode_batch(list(alone.values()), threads=self.target.threads)
        changed = {
            id for number, id in enumerate(alone) if len(encoded[number]) != 1 or encoded[number][0] != id
        }
        self.search.try_texts(alone.values())
        return frozenset(changed | (set(self.ids) - texts.keys()))

    def text(self, id: int) -> str | None:
        """Return a token's text; None for a token with incomplete characters."""
        return text_of_bytes(self.target.ordinary[id])

    def _try_surroundings(self) -> None:
        """Encode the undecided tokens in various contexts."""
        for before, after in product(_BEFORE, _AFTER):
            ids = self._open()
            if not ids:
                return
            self.search.try_texts(before + form + after for id in ids for form in self._forms(id))
        for id in self._open():
            self.search.try_texts(self.model.proposals(id))

    def _forms(self, id: int) -> Iterator[str]:
        """Yield a token's text, also without a leading space that a tokenizer may add, or completions of its bytes."""
        text = self.text(id)
        if text is None:
            yield from completions(self.target.ordinary[id], most=2)
            return
        yield text
        if text.startswith(" "):
            yield text[1:]

    def _try_incomplete(self, most: int) -> None:
        """Encode the tokens that begin or end inside a character, with completions of that character."""
        for id in self._open():
            if self.text(id) is None:
                for texts in _growing_batches(completions(self.target.ordinary[id], most=most)):
                    self.search.try_texts(texts)
                    if self.search.has(id):
                        break

    def _try_patterns(self) -> None:
        """Encode the tokens that the split pattern splits if alone, in surroundings that may keep them in one match."""
        bpe, automaton = self.target.bpe, self.automaton
        if automaton is None:
            return
        for id in self._open():
            text = self.text(id)
            if text is None:
                continue
            if not automaton.holds(text):
                if bpe is None or bpe.pattern is None:
                    continue
                shown = " + ".join(quoted(part) for part in pretokens(bpe.pattern, text))
                evidence = f"the split pattern never has it in one pre-token: alone it is {shown}"
                self._reject(id, Cause.PATTERN, evidence)
                continue
            around = automaton.surroundings(text)
            self.search.try_texts(
                before + text + after + after
                for before, after in around
                for after in ("", "a", " ", "\n", ".")
            )

    def _try_neighbours(self) -> None:
        """Encode incomplete tokens with possible neighbours; a token without any is unreachable."""
        left = [id for id in self._open() if self.text(id) is None][:_MOST_PROVED]
        neighbours = self.neighbours() if left else None
        for id in left if neighbours is not None else ():
            assert neighbours is not None
            found = list(islice(neighbours.surroundings(self.target.ordinary[id]), _NEIGHBOURS))
            if not found:
                self._reject(
                    id,
                    Cause.MERGE_ORDER,
                    "whatever character it is a part of, an earlier merge takes a part of it, "
                    "or the pre-tokenizer cuts there",
                )
                continue
            self.search.try_texts(
                before + text + after
                for text in filter(None, map(text_of_bytes, found))
                for before in ("", " ", "a", "1", ".")
                for after in ("", " ", "a", "1", ".")
            )

    def neighbours(self) -> Neighbours | None:
        """Return the adjacency of tokens; None unless the model is a BPE over bytes."""
        model = self.model
        rules = (model.byte_rules or model.text_rules) if isinstance(model, BpeModel) else None
        is_of_bytes = isinstance(model, BpeModel) and (model.byte_rules is not None or model.is_byte_level)
        if rules is None or not is_of_bytes:
            return None
        tokens = {self.target.ordinary[id]: model.spellings[id] for id in self.ids}
        return Neighbours(rules, tokens, kinds=self._kinds, fits=self._fits)

    def _kinds(self, characters: str) -> list[str]:
        """Group the characters that can occur in normalized text by the classes of the split pattern."""
        lost: Collection[str] = ()
        if self.target.bpe is not None and self.target.bpe.normalization == "nfc":
            lost = {character for character in characters if nfc(character) != character}
        elif self.steps is not None:
            lost = self.steps.lost_characters(characters)
        kept = "".join(character for character in characters if character not in lost) if lost else characters
        return list(kept) if self.automaton is None else list(self.automaton.like(kept).values())

    def _fits(self, text: str) -> bool:
        """Whether a text may be part of one pre-token."""
        if not text:
            return True
        if self.target.bpe is not None:
            return self.automaton is None or self.automaton.holds(text)
        return self.steps is None or self.steps.cut_inside(text) is None

    # --- proofs -------------------------------------------------------------------------------

    def _disprove(self) -> None:
        for id in self._open():
            found = self.model.disproof(id) or self._not_text(id) or self._hidden_by_added_token(id)
            if found is not None:
                self.unreachable[id] = found

    def _not_text(self, id: int) -> Unreachable | None:
        piece = self.target.ordinary[id]
        if self.text(id) is not None or next(completions(piece, most=1), None) is not None:
            return None
        return Unreachable(id, Cause.NOT_TEXT, "its bytes are a part of no UTF-8 text")

    def _hidden_by_added_token(self, id: int) -> Unreachable | None:
        """Prove a token unreachable by an added token that always matches first inside its text."""
        text = self.text(id)
        for added in self.target.opened.added_tokens if text else ():
            if added in (text or "") and self._is_found_everywhere(added):
                return Unreachable(
                    id,
                    Cause.ADDED_TOKEN,
                    f"the added token {quoted(added)} is found in it first",
                    {"added_token": added},
                )
        return None

    def _is_found_everywhere(self, added: str) -> bool:
        """Whether an added token matches in every context, since it lacks the flag `single_word`."""
        document = self.target.document
        entries = [] if document is None else document.get("added_tokens") or []
        return any(entry.get("content") == added and not entry.get("single_word") for entry in entries)

    def _disprove_steps(self) -> None:
        """Prove tokens unreachable by the normalizer or pre-tokenizer."""
        bpe = self.target.bpe
        for id in self._open():
            text = self.text(id)
            if text is None:
                continue
            if bpe is not None and bpe.normalization == "nfc":
                if (normal := nfc(text)) != text:
                    self._reject(id, Cause.NORMALIZER, f"normalized to NFC it is {quoted(normal)}")
            elif self.steps is not None:
                self._disprove_by_steps(id, text, self.steps)

    def _disprove_by_steps(self, id: int, text: str, steps: DocumentSteps) -> None:
        spelling = self.model.spellings.get(id)
        piece = text if steps.is_byte_level or not isinstance(spelling, str) else spelling
        if lost := steps.lost_characters(piece.removeprefix(_INSIDE)):
            shown = ", ".join(quoted(character) for character in lost)
            evidence = f"the normalizer leaves no {shown} in any text"
            self._reject(id, Cause.NORMALIZER, evidence, {"characters": lost})
        elif piece.startswith(_INSIDE):
            if steps.cut_after(piece.removeprefix(_INSIDE)):
                evidence = f"the pre-tokenizer leaves {quoted(piece)} after no other character of a word"
                self._reject(id, Cause.PATTERN, evidence)
        elif parts := steps.cut_inside(piece):
            shown = " + ".join(quoted(part) for part in parts)
            self._reject(id, Cause.PATTERN, f"the pre-tokenizer cuts it, wherever it stands, into {shown}")


def _growing_batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield texts in lists of growing size, since the first texts suffice for most tokens."""
    size, part = 64, []
    for text in texts:
        part.append(text)
        if len(part) == size:
            yield part
            size, part = size * 4, []
    if part:
        yield part
