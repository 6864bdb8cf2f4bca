"""Verify that two tokenizers are equal: ids, decoding and vocabularies.

The texts are the bundled texts, generated texts and the text of each token in the vocabulary (`proof_texts`). A text
that differs is reduced to a smallest text that still differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.convert.disagreement import Disagreement, failure_of, shrink
from tokbench.convert.proof_inputs import InputCall, compare_inputs, input_texts
from tokbench.convert.proof_texts import DOMAIN, corpus_texts, generated_texts, special_texts
from tokbench.core.descriptions import DescribesItself, SentencePieceModel
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError, UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tokbench.convert.disagreement import Outcome
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress

_LONGEST_TOKEN = 5_000
_REPORT_EVERY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A tokenizer of any library, with the functions by which it can be compared.

    Attributes:
        name: the library, as messages name it.
        encode: returns the ids of a text, with special tokens as ordinary text; None if it always finds them.
        encode_special: returns the ids of a text in which special tokens are found; None if it never finds them.
        decode: returns the text of ids, with U+FFFD for incomplete characters; None if it cannot decode.
        token_bytes: returns the bytes of an id, or None if there is no such id; None if it cannot tell.
        special_tokens: the texts of its special tokens, if known.
        excluded: characters that are removed from the texts.
        domain: a sentence that states this restriction.
        undecoded: ids that it decodes differently by design: decoding is not compared for texts with them.
        longest: the length in characters that texts are cut to for it; None for no limit.
        tolerated: whether different ids of a text (the first's, the second's) are accepted; None accepts none.
        inputs: the calls that return model input; empty if it has neither templates nor limits.
        found_otherwise: special tokens that it matches differently; they are compared as ordinary text only and removed
            from the texts of `inputs`.
    """

    name: str
    encode: Callable[[str], Sequence[int]] | None
    encode_special: Callable[[str], Sequence[int]] | None = None
    decode: Callable[[Sequence[int]], str] | None = None
    token_bytes: Callable[[int], bytes | None] | None = None
    special_tokens: tuple[str, ...] = ()
    excluded: str = ""
    domain: str | None = None
    undecoded: frozenset[int] = frozenset()
    longest: int | None = None
    tolerated: Callable[[Sequence[int], Sequence[int]], bool] | None = None
    inputs: tuple[InputCall, ...] = ()
    found_otherwise: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProofResult:
    """The result of comparing two tokenizers.

    Attributes:
        first: the name of the reference tokenizer.
        second: the name of the other tokenizer.
        texts: the number of texts compared.
        characters: the number of code points in them.
        token_occurrences: the number of their tokens.
        vocabulary_tokens: the number of tokens of the vocabulary compared by their bytes.
        inputs: the number of texts and pairs of texts whose model input was compared.
        seed: the seed of the generated texts.
        limits: what the comparison leaves out, one sentence each.
        disagreement: the smallest differing text found, or None.
        tolerated: the number of texts that differ in an accepted way.
    """

    first: str
    second: str
    seed: int
    texts: int
    characters: int
    token_occurrences: int
    vocabulary_tokens: int
    limits: tuple[str, ...]
    disagreement: Disagreement | None = None
    tolerated: int = 0
    inputs: int = 0

    @property
    def agrees(self) -> bool:
        """Whether no difference was found."""
        return self.disagreement is None

    def to_json(self) -> dict[str, Any]:
        """Return the result as a part of `--json`."""
        return {
            "first": self.first,
            "second": self.second,
            "agrees": self.agrees,
            "texts": self.texts,
            "characters": self.characters,
            "token_occurrences": self.token_occurrences,
            "vocabulary_tokens": self.vocabulary_tokens,
            "inputs": self.inputs,
            "seed": self.seed,
            "limits": list(self.limits),
            "tolerated": self.tolerated,
            "disagreement": None if self.disagreement is None else self.disagreement.to_json(),
        }


class ProofError(ConversionError):
    """The error of a conversion whose result differs from its source, so that nothing was written.

    Attributes:
        proof: the `ProofResult` with the smallest differing text.
    """

    exit_code = 3

    def __init__(self, reason: str, *, proof: ProofResult, hint: str | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.proof = proof


def peer_of(tokenizer: Tokenizer, *, name: str | None = None) -> Peer:
    """Wrap one of our tokenizers as a side of a comparison."""
    return Peer(
        name=name or tokenizer.info.name,
        encode=tokenizer.encode,
        encode_special=lambda text: tokenizer.encode(text, special=SpecialPolicy.ENCODE),
        decode=tokenizer.decode,
        token_bytes=partial(token_bytes_of, tokenizer),
        special_tokens=tuple(tokenizer.info.special_tokens),
    )


def token_bytes_of(tokenizer: Tokenizer, id: int) -> bytes | None:
    """Return the bytes of a token, or None if the vocabulary has no such id."""
    try:
        return tokenizer.token_bytes(id)
    except UnknownIdError:
        return None


def vocabulary_of(tokenizer: Tokenizer) -> list[bytes | None]:
    """Return the bytes of each id of a vocabulary; None for a gap."""
    return [token_bytes_of(tokenizer, id) for id in range(tokenizer.info.vocab_size)]


def prove(
    source: Tokenizer,
    peer: Peer,
    *,
    seed: int = 0,
    texts: Iterable[str] | None = None,
    progress: Progress = no_progress,
) -> ProofResult:
    """Compare two tokenizers: vocabulary, ids with and without special tokens, decoding.

    Args:
        source: the reference tokenizer.
        peer: the other tokenizer.
        seed: the seed of the generated texts.
        texts: the texts to compare on; by default the bundled, generated and token texts.
        progress: called with the number of texts done.

    Returns:
        The counts, and the smallest difference found; the comparison ends at the first one.
    """
    known = dict.fromkeys([*source.info.special_tokens, *peer.special_tokens])
    special = [token for token in known if not set(token) & set(peer.excluded)]
    vocabulary = vocabulary_of(source)
    comparison = _Comparison(source, peer, progress)
    if texts is None:
        # Short texts come first: a difference on a short text is quickly reduced.
        spelled = [*special, *_symbols_of(source)]
        differs = comparison.run(chain(generated_texts(spelled, seed=seed), corpus_texts()))
        differs = differs or comparison.run(_readable(vocabulary), decoding=peer.token_bytes is None)
    else:
        differs = comparison.run(texts)
    if not differs and peer.encode is not None and peer.encode_special is not None:
        comparable = [token for token in special if token not in peer.found_otherwise]
        comparison.run(special_texts(comparable, seed=seed), special=True)
    difference, inputs = comparison.disagreement, 0
    if difference is None:
        comparable_texts = [
            text
            for text in _suited(input_texts(special, seed=seed) if texts is None else texts, peer)
            if not any(token in text for token in peer.found_otherwise)
        ]
        compared = compare_inputs(source, peer.inputs, _settled(comparable_texts, source, peer))
        inputs = compared.count
        if compared.disagreement is not None:
            difference = _with_tokens(compared.disagreement, source, peer)
    if difference is None and peer.token_bytes is not None:
        difference = _different_token(vocabulary, peer.token_bytes)
    return ProofResult(
        first=source.info.name,
        second=peer.name,
        seed=seed,
        texts=comparison.texts,
        characters=comparison.characters,
        token_occurrences=comparison.token_occurrences,
        vocabulary_tokens=0 if peer.token_bytes is None else len(vocabulary),
        limits=(DOMAIN, *([peer.domain] if peer.domain else [])),
        disagreement=difference,
        tolerated=comparison.tolerated,
        inputs=inputs,
    )


def _symbols_of(tokenizer: Tokenizer) -> Iterable[str]:
    """Return the user-defined symbols of a SentencePiece model, which texts contain like special tokens."""
    description = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    if not isinstance(description, SentencePieceModel):
        return ()
    from tokbench.formats.sentencepiece.model import iter_user_defined, parse_model

    return iter_user_defined(parse_model(description.proto))


class _Comparison:
    """A comparison text by text, with counts and the first difference, reduced to a smallest text."""

    def __init__(self, source: Tokenizer, peer: Peer, progress: Progress) -> None:
        self._source = source
        self._peer = peer
        self._progress = progress
        self.texts = self.characters = self.token_occurrences = self.tolerated = 0
        self.disagreement: Disagreement | None = None

    def run(self, texts: Iterable[str], *, special: bool = False, decoding: bool = True) -> bool:
        """Compare texts until one differs; return whether one did."""
        special = special or self._peer.encode is None
        for text in _suited(texts, self._peer):
            if self.texts % _REPORT_EVERY == 0:
                self._progress("proving", self.texts, None, "texts")
            self.texts += 1
            self.characters += len(text)
            found, tokens = self._difference(text, special=special, decoding=decoding)
            self.token_occurrences += tokens
            if found is not None:
                self.disagreement = self._smallest(found, special=special, decoding=decoding)
                return True
        return False

    def _smallest(self, found: Disagreement, *, special: bool, decoding: bool) -> Disagreement:
        def difference(text: str) -> Disagreement | None:
            return self._difference(text, special=special, decoding=decoding)[0]

        smallest = shrink(found.text, lambda text: difference(text) is not None)
        return _with_tokens(difference(smallest) or found, self._source, self._peer)

    def _difference(self, text: str, *, special: bool, decoding: bool) -> tuple[Disagreement | None, int]:
        """Return the difference between the two on a text, or None; and the number of its tokens."""
        encode = self._peer.encode_special if special else self._peer.encode
        if encode is None:
            return None, 0
        policy = SpecialPolicy.ENCODE if special else SpecialPolicy.TEXT
        expected = _ids(lambda text: self._source.encode(text, special=policy), text)
        found = _ids(encode, text)
        if expected != found and self._is_tolerated(expected, found):
            self.tolerated += 1
        elif expected != found:
            return Disagreement("encode special" if special else "encode", text, expected, found), 0
        if isinstance(expected, str):
            return None, 0
        if decoding and self._peer.decode is not None and self._peer.undecoded.isdisjoint(expected):
            expected_text, found_text = (
                _text(self._source.decode, expected),
                _text(self._peer.decode, expected),
            )
            if expected_text != found_text:
                return Disagreement("decode", text, expected_text, found_text), 0
        return None, len(expected)

    def _is_tolerated(self, expected: Outcome, found: Outcome) -> bool:
        tolerated = self._peer.tolerated
        both_ids = isinstance(expected, tuple) and isinstance(found, tuple)
        return tolerated is not None and both_ids and tolerated(expected, found)  # type: ignore[arg-type]


def _settled(texts: Iterable[str], source: Tokenizer, peer: Peer) -> Iterable[str]:
    """Return the texts on which both give the same ids, if different ids are tolerated."""
    encode = peer.encode_special
    if peer.tolerated is None or encode is None:
        return texts
    same = partial(source.encode, special=SpecialPolicy.ENCODE)
    return (text for text in texts if same(text) == list(encode(text)))


def _with_tokens(found: Disagreement, source: Tokenizer, peer: Peer) -> Disagreement:
    """Add the bytes of the tokens to a difference in ids."""
    if found.way in ("type ids", "attention mask"):
        return found
    return replace(
        found,
        expected_tokens=_tokens(found.expected, token_bytes=partial(token_bytes_of, source)),
        found_tokens=_tokens(found.found, token_bytes=peer.token_bytes or partial(token_bytes_of, source)),
    )


def _tokens(ids: Outcome, *, token_bytes: Callable[[int], bytes | None]) -> tuple[bytes, ...]:
    return tuple(token_bytes(id) or b"" for id in ids) if isinstance(ids, tuple) else ()


def _ids(encode: Callable[[str], Sequence[int]], text: str) -> tuple[int, ...] | str:
    try:
        return tuple(map(int, encode(text)))
    except BaseException as error:
        return failure_of(error)


def _text(decode: Callable[[Sequence[int]], str], ids: tuple[int, ...]) -> str:
    try:
        return decode(ids)
    except BaseException as error:
        return failure_of(error)


def _different_token(
    vocabulary: Sequence[bytes | None], token_bytes: Callable[[int], bytes | None]
) -> Disagreement | None:
    for id, expected in enumerate(vocabulary):
        found = token_bytes(id)
        if found != expected:
            text = f"id {id}: {(expected or b'').decode(errors='replace')}"
            return Disagreement("token", text, expected, found)
    beyond = token_bytes(len(vocabulary))
    return None if beyond is None else Disagreement("token", f"id {len(vocabulary)}", None, beyond)


def _readable(vocabulary: Iterable[bytes | None]) -> Iterator[str]:
    """Yield the texts of tokens that are whole characters, very long ones truncated.

    For a token of 30,000 repeated characters, `tokenizers` takes ten seconds to find the best pieces.
    """
    for token in vocabulary:
        try:
            if token:
                yield token.decode()[:_LONGEST_TOKEN]
        except UnicodeDecodeError:
            continue


def _suited(texts: Iterable[str], peer: Peer) -> Iterator[str]:
    """Yield the texts as the peer can take them: without excluded characters, cut to its longest length."""
    without = {ord(character): None for character in peer.excluded}
    for text in texts:
        kept = text.translate(without) if without else text
        if peer.longest is None or len(kept) <= peer.longest:
            yield kept
        else:
            yield from (kept[start : start + peer.longest] for start in range(0, len(kept), peer.longest))
