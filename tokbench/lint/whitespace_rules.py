"""Rules about white space that decoding loses, and about the tokens of digits and indentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import quoted
from tokbench.lint.class_pipeline import WORD_END_BPE, kind_of_class
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.lint.target import LintTarget

_BETWEEN = (
    *("", " ", "  ", "   ", "    ", "\n", "\n\n", "\t", "\t\t"),
    *("\r\n", " \n", "\n ", "\n    ", "\u00a0"),
)
_PROBES = (
    *(f"a{space}b" for space in _BETWEEN),
    *(f"{space}a" for space in _BETWEEN[1:]),
    *(f"a{space}" for space in _BETWEEN[1:]),
)
_SHOWN = 6
_SPECIALS_TRIED = 16
_WIDTHS = (2, 4, 8, 16)

_rule = rules_of("whitespace")


@_rule(
    name="lost-white-space",
    severity=Severity.WARNING,
    breaks="Code, tables and prompts decode with different white space: indentation and line ends are lost.",
    found="Texts with 0 to 4 spaces, tabs and line ends between and around letters are encoded and decoded.",
    remedy="Use a normalizer and decoder that keep white space, or do not use the tokenizer for code.",
)
def _lost_white_space(target: LintTarget) -> Iterator[Found]:
    if not target.spells("ab"):
        raise DoesNotApplyError("it cannot encode the letters to put around the white space")
    if _back(target, "ab") != "ab":
        name = target.opened.source.config.tokenizer_class
        mends = kind_of_class(name) == WORD_END_BPE
        mended = f"; {name} of transformers removes the end-of-word suffixes, which the file does not"
        yield Found(
            subject="every text",
            evidence=f'even "ab", without white space, decodes to {quoted(_back(target, "ab"))}'
            + (mended if mends else ""),
            remedy="Give the file the decoder that belongs to its model.",
            severity=Severity.NOTE if mends else None,
        )
        return
    lost = [(text, back) for text in _PROBES if (back := _back(target, text)) != text]
    if lost:
        yield Found(
            subject=f"{len(lost)} of {len(_PROBES)} texts with white space",
            evidence="they decode differently: "
            + ", ".join(f"{quoted(text)} as {quoted(back)}" for text, back in lost[:_SHOWN]),
            details={"texts": dict(lost)},
        )


@_rule(
    name="space-at-special-token",
    severity=Severity.WARNING,
    breaks="A chat template gives different ids than its author saw: a space is added or lost at a special token.",
    found="Texts are encoded with and without a special token in them, and the decoded texts are compared.",
    remedy="Put the space into the template, or turn off the prefix space and the stripping of special tokens.",
)
def _spaces_at_special_tokens(target: LintTarget) -> Iterator[Found]:
    specials = target.tokenizer.info.special_tokens
    if not specials:
        raise DoesNotApplyError("it has no special tokens")
    alike: dict[tuple[str, ...], list[str]] = {}
    for token in list(specials)[:_SPECIALS_TRIED]:
        changed = tuple(_changed_around(target, token))
        if changed:
            alike.setdefault(changed, []).append(token)
    for changed, tokens in alike.items():
        more = f" and {len(tokens) - 1} more like it" if len(tokens) > 1 else ""
        yield Found(
            subject=f"special token {specials[tokens[0]]} {tokens[0]}{more}",
            evidence="text next to it (X) decodes differently: " + ", ".join(changed[:_SHOWN]),
            token_ids=tuple(specials[token] for token in tokens),
            severity=None if _back(target, "a  b") == "a  b" else Severity.NOTE,
        )


def _changed_around(target: LintTarget, token: str) -> Iterator[str]:
    """Yield texts that a special token (shown as X) causes to decode differently."""
    tokenizer = target.tokenizer
    for text in (f"{token}b", f"{token} b", f"a{token}", f"a {token}", f"a{token}b"):
        ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
        back = tokenizer.decode(ids)
        if back != text and back.replace(token, "") != _back(target, text.replace(token, "")):
            yield f"{quoted(text.replace(token, 'X'))} as {quoted(back.replace(token, 'X'))}"


def _back(target: LintTarget, text: str) -> str:
    return target.tokenizer.decode(target.tokenizer.encode(text))


@_rule(
    name="uneven-digits",
    severity=Severity.NOTE,
    breaks="Numbers of the same length are split in different ways, which makes arithmetic harder to learn.",
    found="The numbers of 2, 3 and 4 digits that are a token are counted; all or none of a length is even.",
    remedy="Split digits one by one, or up to three from the right, in the pattern.",
)
def _digits(target: LintTarget) -> Iterator[Found]:
    pieces = {piece for piece in target.ordinary.values() if piece.isdigit()}
    present = {size: sum(len(piece) == size for piece in pieces) for size in (2, 3, 4)}
    uneven = {
        size: count
        for size, count in present.items()
        if 0 < count < 10**size and _cuts_unevenly(target, size)
    }
    if uneven:
        tokens = " and ".join(
            f"{count:,} of {10**size:,} with {size} digits" for size, count in uneven.items()
        )
        yield Found(
            subject="numbers",
            evidence=f"{tokens} are a token, and the others are split",
            details={"tokens_by_digits": {str(size): count for size, count in uneven.items()}},
        )


def _cuts_unevenly(target: LintTarget, size: int) -> bool:
    """Whether numbers with this many digits have different numbers of tokens."""
    numbers = (str(number).zfill(size) for number in range(0, 10**size, max(1, 10**size // 500)))
    counts = target.tokenizer.encode_batch(
        [f"x {number}" for number in numbers], threads=target.threads
    ).counts
    return bool(counts.min() < counts.max())


@_rule(
    name="indentation-by-space",
    severity=Severity.NOTE,
    breaks="Code takes several times as many tokens: each space of an indentation is a separate token.",
    found="A line is encoded with 2, 4, 8 and 16 spaces before it, and without.",
    remedy="Train on code with a pattern that keeps runs of spaces, or add tokens for them.",
)
def _indentation(target: LintTarget) -> Iterator[Found]:
    line = "x = 1"
    plain = len(target.tokenizer.encode(f"{line}\n{line}"))
    costs = {width: len(target.tokenizer.encode(f"{line}\n{' ' * width}{line}")) - plain for width in _WIDTHS}
    if costs[8] >= 7:
        yield Found(
            subject="indentation",
            evidence="each of its spaces is a token: "
            + ", ".join(f"{width} spaces cost {cost}" for width, cost in costs.items()),
            details={"tokens_by_spaces": {str(width): cost for width, cost in costs.items()}},
        )


RULES = (_lost_white_space, _spaces_at_special_tokens, _digits, _indentation)
