"""Rules about added and special tokens: overlaps, effects on surrounding text, and text that becomes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import quoted
from tokbench.formats.tokenizer_config.fields import ADDED_TOKEN_FLAGS, is_id, is_text
from tokbench.formats.tokenizer_json import from_byte_level, to_byte_level
from tokbench.lint.class_pipeline import is_byte_level
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, rules_of
from tokbench.lint.special_from_text import special_tokens_from_text
from tokbench.opening.found_tokens import indistinct_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.lint.target import LintTarget

_LONGEST = 256
"""Maximum length of the added tokens that are checked for overlaps."""


@dataclass(frozen=True, slots=True)
class Added:
    """An added token.

    Attributes:
        id: its id.
        text: its text.
        special: whether it is a special token, which decoding may skip.
        flags: its matching flags, by their names in tokenizer.json; empty if no file has them.
    """

    id: int
    text: str
    special: bool
    flags: Mapping[str, bool]

    def has(self, *names: str) -> bool:
        """Whether any of these flags is set."""
        return any(self.flags.get(name, False) for name in names)


def added_tokens(target: LintTarget) -> tuple[Added, ...]:
    """Return special and other added tokens, by ascending id."""
    flags = {text: flags for text, _, flags in _listed(target.document)}
    special = target.tokenizer.info.special_tokens
    return tuple(
        Added(id, text, text in special, flags.get(text, {}))
        for text, id in sorted({**target.opened.added_tokens, **special}.items(), key=lambda item: item[1])
        if text
    )


def _listed(document: Mapping[str, Any] | None) -> Iterator[tuple[str, int, Mapping[str, bool]]]:
    listed = (document or {}).get("added_tokens")
    for token in listed if isinstance(listed, list) else []:
        if isinstance(token, dict) and is_text(token.get("content")) and is_id(token.get("id")):
            flags = {name: token[name] for name in ADDED_TOKEN_FLAGS if isinstance(token.get(name), bool)}
            yield token["content"], token["id"], flags


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two added tokens that match overlapping parts of a text.

    Attributes:
        first: the token that begins first.
        second: the other token.
        shared: the characters that both match.
        text: the shortest text in which both match.
    """

    first: Added
    second: Added
    shared: str
    text: str

    @property
    def is_contained(self) -> bool:
        """Whether the first token is a prefix of the second."""
        return self.text == self.second.text


def overlaps(tokens: tuple[Added, ...]) -> Iterator[Overlap]:
    """Yield the pairs in which a proper prefix of one token is a suffix of the other, or the whole other.

    Runs of one character, such as tokens for 2, 3 and 4 spaces, are skipped, as the longest match is intended.
    """
    short = [token for token in tokens if len(token.text) <= _LONGEST]
    by_prefix: dict[str, list[Added]] = {}
    for token in short:
        for size in range(1, len(token.text)):
            by_prefix.setdefault(token.text[:size], []).append(token)
    for first in short:
        for start in range(len(first.text)):
            for second in by_prefix.get(first.text[start:], ()):
                text = first.text[:start] + second.text
                if first is not second and len(set(text)) > 1:
                    yield Overlap(first, second, first.text[start:], text)


CONTEXTS = (("a", "b"), ("a ", "b"), ("a", " b"), ("a ", " b"))
"""The texts before and after an added token that are tried."""


def changes_around(target: LintTarget, token: Added) -> list[tuple[str, str]]:
    """Find the contexts in which a token is not found, or changes the text around it.

    Returns:
        (text, fault) pairs; faults are "is not found", "takes the space before it" ….
    """
    found = []
    for before, after in CONTEXTS:
        text = before + token.text + after
        wrong = _wrong_with(target, token, before=before, after=after)
        if wrong is not None:
            found.append((text, wrong))
    return found


def _wrong_with(target: LintTarget, token: Added, *, before: str, after: str) -> str | None:
    ids = target.tokenizer.encode(before + token.text + after, special=SpecialPolicy.ENCODE)
    if token.id not in ids:
        return "is not found"
    place = ids.index(token.id)
    for name, text, part in (("before", before, ids[:place]), ("after", after, ids[place + 1 :])):
        alone = target.tokenizer.decode(target.tokenizer.encode(text))
        kept = target.tokenizer.decode(part)
        if text.strip() != text and alone != kept and alone.split() == kept.split():
            return f"takes the space {name} it"
        if alone.split() != kept.split():
            return f"changes the text {name} it"
    return None


_SHOWN = 6
_MOST_TRIED = 512
"""Maximum number of added tokens that are tried in contexts: thousands of similar ones show nothing more."""

_rule = rules_of("special-tokens")


def _tokens(target: LintTarget) -> tuple[Added, ...]:
    tokens = target.derived(added_tokens)
    if not tokens:
        raise DoesNotApplyError("it has no added tokens")
    return tokens


@_rule(
    name="overlapping-added-token",
    severity=Severity.WARNING,
    breaks="If two added tokens overlap in a text, only the one that starts first is found.",
    found="The tokens' texts are compared, and a text with both is encoded; runs of one character are skipped.",
    remedy="Rename one of them so that neither ends with the start of the other.",
)
def _overlapping(target: LintTarget) -> Iterator[Found]:
    alike: dict[tuple[str, str], list[Overlap]] = {}
    for overlap in overlaps(_tokens(target)):
        # A single shared character, as in <a> and >>b<<, is only a note, so these are grouped together.
        after = overlap.second.text if len(overlap.shared) > 1 or overlap.is_contained else ""
        alike.setdefault((overlap.shared, after), []).append(overlap)
    for (shared, _), group in alike.items():
        overlap = group[0]
        contained = overlap.is_contained
        ids = target.tokenizer.encode(overlap.text, special=SpecialPolicy.ENCODE)
        if contained and ids == [overlap.second.id]:
            continue  # the longer token matches, as usual
        more = f" and {len(group) - 1} more like it" if len(group) > 1 else ""
        taken = ", ".join(map(target.named, ids[:_SHOWN]))
        yield Found(
            subject=f"{target.named(overlap.first.id)}{more} before {target.named(overlap.second.id)}",
            evidence=f"both match {quoted(shared)}: {quoted(overlap.text)} becomes {taken}",
            token_ids=tuple(sorted({id for member in group for id in (member.first.id, member.second.id)})),
            severity=Severity.ERROR if contained else Severity.NOTE if len(shared) == 1 else None,
            details={"text": overlap.text, "ids": ids},
        )


@_rule(
    name="indistinct-added-token",
    severity=Severity.ERROR,
    breaks="`tokenizers` finds either of two added tokens, by chance: the same text has other ids in the next run.",
    found="The texts of normalized added tokens are compared after normalization, as where both are lower-cased.",
    remedy="Define the tokens with normalized=false, or keep only one of them.",
)
def _indistinct(target: LintTarget) -> Iterator[Found]:
    ids = {token.text: token.id for token in _tokens(target) if token.has("normalized")}
    for group in indistinct_tokens(target.document or {}):
        named = [target.named(ids[text]) for text in group if text in ids]
        yield Found(
            subject=" and ".join(named[:_SHOWN]) + (" …" if len(named) > _SHOWN else ""),
            evidence="they have the same normalized text",
            token_ids=tuple(ids[text] for text in group if text in ids),
        )


@_rule(
    name="added-token-takes-space",
    severity=Severity.WARNING,
    breaks="An added token takes a space or is missed, depending on the text around it: prompts get different ids.",
    found="Added tokens with flags are encoded in four contexts, with and without spaces on both sides.",
    remedy="Define the token with normalized=false, and without lstrip, rstrip and single_word.",
)
def _eats_space(target: LintTarget) -> Iterator[Found]:
    flagged = ("normalized", "lstrip", "rstrip", "single_word")
    tokens = [token for token in _tokens(target) if token.text.strip() and token.has(*flagged)]
    if not tokens:
        raise DoesNotApplyError("no added token is normalized, stripped or a single word")
    alike: dict[tuple[str, ...], list[Added]] = {}
    for token in tokens[:_MOST_TRIED]:
        changes = changes_around(target, token)
        if changes:
            shown = tuple(f"it {wrong} in {quoted(text.replace(token.text, 'X'))}" for text, wrong in changes)
            alike.setdefault((str(_is_requested(token)), *shown), []).append(token)
    for key, group in alike.items():
        changed = "; ".join(key[1:])
        more = f" and {len(group) - 1} more like it" if len(group) > 1 else ""
        flags = [name for name, is_set in group[0].flags.items() if is_set and name != "special"]
        yield Found(
            subject=target.named(group[0].id) + more,
            evidence=f"with {', '.join(flags)}, {changed}",
            token_ids=tuple(token.id for token in group),
            severity=Severity.NOTE if _is_requested(group[0]) else None,
        )


def _is_requested(token: Added) -> bool:
    """Whether a flag requests the effect, as for RoBERTa's mask, which takes the preceding space."""
    return token.has("lstrip", "rstrip", "single_word")


@_rule(
    name="plain-special-token",
    severity=Severity.WARNING,
    breaks="Ordinary text contains the special token, which splits the text or ends a turn.",
    found="Special tokens of only letters, digits and spaces are reported, as are tokens that are HTML tags.",
    remedy="Give special tokens a spelling that does not occur in text, such as <|name|>; escape it in data.",
)
def _plain_words(target: LintTarget) -> Iterator[Found]:
    for token in _tokens(target):
        words = token.text.strip()
        if words and words.replace(" ", "").isalnum() and token.special:
            yield Found(
                subject=f"special token {token.id} {quoted(token.text)}",
                evidence="it is an ordinary word: libraries that search for special tokens find it in any text",
                token_ids=(token.id,),
            )
        elif token.text in _MARKUP:
            yield Found(
                subject=target.named(token.id),
                evidence="it is also a tag of HTML, which occurs in web pages",
                token_ids=(token.id,),
                severity=Severity.NOTE,
            )


_TAGS = ["s", "b", "i", "u", "p", "q", "a", "br", "hr", "em", "code", "pre", "mark", "summary", "title"]
_MARKUP = frozenset(f"{opening}{tag}>" for opening in ("<", "</") for tag in _TAGS)


@_rule(
    name="byte-characters-in-added-token",
    severity=Severity.WARNING,
    breaks="Added tokens are searched literally: one with Ġ for a space is never found in a text.",
    found="Added tokens of byte-level vocabularies are searched for Ġ and Ċ, which stand for spaces and line ends.",
    remedy="Write the added token as it occurs in text, with a space instead of Ġ.",
)
def _byte_characters(target: LintTarget) -> Iterator[Found]:
    if target.bpe is None and not is_byte_level(target.document or {}):
        raise DoesNotApplyError("its pieces are not written in byte-level characters")
    signs = set(map(to_byte_level, (b" ", b"\n")))  # others are letters of Czech, Latvian or Turkish
    for token in _tokens(target):
        if not signs & set(token.text):
            continue
        try:
            meant = from_byte_level(token.text)
        except (ValueError, KeyError):
            continue
        yield Found(
            subject=f"added token {token.id} {quoted(token.text)}",
            evidence=f"it contains characters that stand for bytes in vocabularies: {quoted(meant)} is meant, "
            "and is not found",
            token_ids=(token.id,),
            details={"meant": meant.decode(errors="replace")},
        )


_special_tokens_from_text = _rule(
    name="special-token-from-text",
    severity=Severity.ERROR,
    breaks="User input gives the id of a special token in libraries that leave it to the model's merges.",
    found="Special tokens that are pieces are encoded by the model alone: by themselves, after a space, in a word.",
    remedy="Remove the merges that produce it from the model, and its text from the training text.",
)(special_tokens_from_text)

RULES = (_overlapping, _indistinct, _eats_space, _special_tokens_from_text, _plain_words, _byte_characters)
