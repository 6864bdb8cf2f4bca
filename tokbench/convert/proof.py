"""Verify that two tokenizers are equal: ids, decoding and vocabularies.

The texts are the bundled ones, generated ones and the text of each token of the vocabulary
(`proof_texts`). What differs is cut down to the smallest text that still does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.convert.disagreement import Disagreement, failure_of
from tokbench.convert.proof_inputs import InputCall, compare_inputs, input_texts
from tokbench.convert.proof_texts import DOMAIN, corpus_texts, generated_texts, special_texts
from tokbench.convert.shrinking import shrink
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
    """A tokenizer of any library, as far as it can be compared.

    Attributes:
        name: the library, as messages call it.
        encode: the ids of a text in which nothing is a special token; None where it always finds them.
        encode_special: the ids where the texts of special tokens are these; None where it never finds them.
        decode: the text of ids, U+FFFD for what is incomplete; None where it cannot.
        token_bytes: the bytes of an id, None where there is no such id; None where it cannot tell.
        special_tokens: the texts of special tokens that it knows, where that is known.
        excluded: characters on which it is not asked.
        domain: the sentence that says so.
        undecoded: ids that it decodes in a way of its own: the decoding of texts with them is not compared.
        longest: texts are cut to this many characters for it; None takes any.
        tolerated: whether other ids of a text (the first's, the second's) are accepted; None accepts none.
        inputs: the ways to ask it for what a model gets; none where it knows neither templates nor limits.
        found_otherwise: special tokens that it finds in another way, which are compared as ordinary text alone, and
            stand in no text of `inputs`.
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
    """What two tokenizers were compared on, and where they differ.

    Attributes:
        first: the name of the one that is right.
        second: the name of the other.
        texts: texts compared.
        characters: their code points.
        token_occurrences: the tokens they became.
        vocabulary_tokens: tokens of the vocabulary that were compared by their bytes.
        inputs: texts and pairs of texts for which what a model gets was compared.
        seed: drew the generated texts.
        limits: what the comparison leaves out, a sentence each.
        disagreement: the smallest text found that differs, None where none does.
        tolerated: texts that differ in a way that is accepted.
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
        """As a part of `--json`."""
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
    """The error of a conversion whose result differs from its source: nothing was written.

    Attributes:
        proof: the `ProofResult` with the smallest text that differs.
    """

    exit_code = 3

    def __init__(self, reason: str, *, proof: ProofResult, hint: str | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.proof = proof


def peer_of(tokenizer: Tokenizer, *, name: str | None = None) -> Peer:
    """A tokenizer of ours as one side of a comparison."""
    return Peer(
        name=name or tokenizer.info.name,
        encode=tokenizer.encode,
        encode_special=lambda text: tokenizer.encode(text, special=SpecialPolicy.ENCODE),
        decode=tokenizer.decode,
        token_bytes=partial(token_bytes_of, tokenizer),
        special_tokens=tuple(tokenizer.info.special_tokens),
    )


def token_bytes_of(tokenizer: Tokenizer, id: int) -> bytes | None:
    """The bytes of a token, None where the vocabulary has no such id."""
    try:
        return tokenizer.token_bytes(id)
    except UnknownIdError:
        return None


def prove(
    source: Tokenizer,
    peer: Peer,
    *,
    seed: int = 0,
    texts: Iterable[str] | None = None,
    progress: Progress = no_progress,
) -> ProofResult:
    """Compare a tokenizer with another: vocabulary, ids with and without special tokens, decoding.

    Args:
        source: the one that is right.
        peer: the other.
        seed: draws the generated texts.
        texts: what to compare them on instead of the bundled, and generated texts and those of the tokens.
        progress: called with the number of texts done.

    Returns:
        What was compared, and the smallest difference found; the comparison ends at the first one.
    """
    known = dict.fromkeys([*source.info.special_tokens, *peer.special_tokens])
    special = [token for token in known if not set(token) & set(peer.excluded)]
    vocabulary = _vocabulary(source)
    comparison = _Comparison(source, peer, progress)
    if texts is None:
        # Short texts come first: what differs on them is soon made smaller.
        differs = comparison.run(chain(generated_texts(special, seed=seed), corpus_texts()))
        differs = differs or comparison.run(_readable(vocabulary), decoding=peer.token_bytes is None)
    else:
        differs = comparison.run(texts)
    if not differs and peer.encode is not None and peer.encode_special is not None:
        alike = [token for token in special if token not in peer.found_otherwise]
        comparison.run(special_texts(alike, seed=seed), special=True)
    difference, inputs = comparison.disagreement, 0
    if difference is None:
        asked = [
            text
            for text in _suited(input_texts(special, seed=seed) if texts is None else texts, peer)
            if not any(token in text for token in peer.found_otherwise)
        ]
        compared = compare_inputs(source, peer.inputs, _settled(asked, source, peer))
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


class _Comparison:
    """Compares text after text, counts them, and keeps the first difference in its smallest form."""

    def __init__(self, source: Tokenizer, peer: Peer, progress: Progress) -> None:
        self._source = source
        self._peer = peer
        self._progress = progress
        self.texts = self.characters = self.token_occurrences = self.tolerated = 0
        self.disagreement: Disagreement | None = None

    def run(self, texts: Iterable[str], *, special: bool = False, decoding: bool = True) -> bool:
        """Compare text after text; whether one differs."""
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
        """How the two differ on a text, and the tokens that it has."""
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
            read, also = self._source.decode(expected), _text(self._peer.decode, expected)
            if read != also:
                return Disagreement("decode", text, read, also), 0
        return None, len(expected)

    def _is_tolerated(self, expected: Outcome, found: Outcome) -> bool:
        tolerated = self._peer.tolerated
        both_ids = isinstance(expected, tuple) and isinstance(found, tuple)
        return tolerated is not None and both_ids and tolerated(expected, found)  # type: ignore[arg-type]


def _settled(texts: Iterable[str], source: Tokenizer, peer: Peer) -> Iterable[str]:
    """The texts without those on which other ids are accepted."""
    encode = peer.encode_special
    if peer.tolerated is None or encode is None:
        return texts
    same = partial(source.encode, special=SpecialPolicy.ENCODE)
    return (text for text in texts if same(text) == list(encode(text)))


def _with_tokens(found: Disagreement, source: Tokenizer, peer: Peer) -> Disagreement:
    """The difference with the bytes of its ids, where it is one of ids."""
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


def _vocabulary(source: Tokenizer) -> list[bytes | None]:
    return [token_bytes_of(source, id) for id in range(source.info.vocab_size)]


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
    """The texts of those tokens that are whole characters, and the beginning of very long ones.

    For a token of 30,000 characters that repeat, `tokenizers` takes ten seconds to find the best pieces.
    """
    for token in vocabulary:
        try:
            if token:
                yield token.decode()[:_LONGEST_TOKEN]
        except UnicodeDecodeError:
            continue


def _suited(texts: Iterable[str], peer: Peer) -> Iterator[str]:
    """The texts as far as the peer takes them."""
    without = {ord(character): None for character in peer.excluded}
    for text in texts:
        kept = text.translate(without) if without else text
        if peer.longest is None or len(kept) <= peer.longest:
            yield kept
        else:
            yield from (kept[start : start + peer.longest] for start in range(0, len(kept), peer.longest))
