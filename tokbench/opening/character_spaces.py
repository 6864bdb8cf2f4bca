"""How a BPE over characters in a `tokenizer.json` treats spaces, as our kernel does it.

Spaces are written as ▁, and one may be put in front. The checks mirror pre_tokenizers/metaspace.rs of Hugging Face's
`tokenizers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.huggingface.tokenizer_json import steps
from tokbench.opening.native_bpe import NotNativeError
from tokbench.opening.text_normalization import TextNormalization

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaces:
    """How a document treats spaces, as our kernel does it.

    Attributes:
        normalization: the normalization done in Python, which follows the search for added tokens in the raw text.
        are_marked: whether the kernel writes them as ▁.
        in_front: where a space is put in front: "nothing"; "each part" between added tokens; "parts without" (each part
            that does not begin with one); "text without" (a text that does not begin with one).
        begin_words: whether the text is cut in front of each space.
        cuts: the pre-tokenizers that cut further; each decides by two adjacent characters alone.
    """

    normalization: TextNormalization
    are_marked: bool
    in_front: str
    begin_words: bool
    cuts: tuple[Mapping[str, Any], ...]


def spaces_of(document: Mapping[str, Any]) -> Spaces:
    """Return how a document treats spaces. Raises `NotNativeError` where the kernel cannot."""
    if (converted := _converted_spaces(document)) is not None:
        return converted
    normalizers = steps(document.get("normalizer"))
    own = [own_step(step) for step in normalizers]
    is_own = own in ([], ["mark"], ["prepend", "mark"])
    if any(not token.get("special") and needs_normal_text(token, own) for token in listed_tokens(document)):
        is_own = False
    normalization = TextNormalization(() if is_own else normalizers)
    are_marked = is_own and "mark" in own
    in_front = "each part" if is_own and "prepend" in own else "nothing"
    has_spaces = own[-1:] != ["mark"]
    absent = _absent_texts(normalizers)
    begin_words = has_metaspace = False
    cuts: list[Mapping[str, Any]] = []
    for step in steps(document.get("pre_tokenizer")):
        match step:
            case {"type": "Split", "pattern": {"String": " "}} if not has_spaces:
                continue  # no spaces are left
            case {"type": "Split", "pattern": {"String": str(text)}} if text in absent:
                continue  # nor this text, such as ChatGLM's <!dummy-prefix!>
            case _ if _cuts_between_two(step):
                cuts.append(step)
            case {"type": "Metaspace", "replacement": "▁"} if not (has_metaspace or cuts):
                scheme, begin_words = step.get("prepend_scheme", "always"), step.get("split", True)
                if scheme != "never" and in_front == "nothing":
                    in_front = "parts without" if scheme == "always" else "text without"
                has_metaspace, are_marked, has_spaces = True, True, False
            case _:
                raise NotNativeError(f"it splits by {step.get('type')}")
    if in_front == "text without" and normalization:
        raise NotNativeError(f"it prepends {SPACE} to normalized texts")
    return Spaces(
        normalization=normalization,
        are_marked=are_marked,
        in_front=in_front,
        begin_words=begin_words,
        cuts=tuple(cuts),
    )


def _converted_spaces(document: Mapping[str, Any]) -> Spaces | None:
    """Return how a document treats spaces if the kernel can do the last of its steps only; None for any other.

    These are the last steps that transformers writes for a SentencePiece model: spaces become ▁, and one more ▁ is put
    in front, by Metaspace where there is none, and by a replacement where there is one.
    """
    normalizers, pre_tokenizers = steps(document.get("normalizer")), steps(document.get("pre_tokenizer"))
    if any(token.get("normalized") for token in listed_tokens(document)):
        return None  # such a token is found after all normalizers
    match [*map(own_step, normalizers[-2:])], pre_tokenizers:
        case [_, "mark"], []:
            before, in_front = normalizers[:-1], "nothing"
        case ["mark", "double"], [{"type": "Metaspace", "replacement": "▁", "split": False, **rest}]:
            if rest.get("prepend_scheme", "always") != "always":
                return None
            before, in_front = normalizers[:-2], "each part"
        case _:
            return None
    if "prepend" in map(own_step, before):
        return None
    return Spaces(
        normalization=TextNormalization(before),
        are_marked=True,
        in_front=in_front,
        begin_words=False,
        cuts=(),
    )


def _absent_texts(normalizers: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return texts that no normalized text contains: they were replaced, and nothing written later is part of them.

    >>> mark = {"type": "Replace", "pattern": {"String": "<p>"}, "content": "▁"}
    >>> space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    >>> sorted(_absent_texts([mark, space]))
    [' ', '<p>']
    """
    absent: set[str] = set()
    for step in normalizers:
        match step:
            case {"type": "Replace", "pattern": {"String": str(text)}, "content": str(content)}:
                absent = {other for other in {*absent, text} if other and set(content).isdisjoint(other)}
                if not content:  # removing text may join its neighbours into one of them
                    absent = set()
            case _:
                absent = set()
    return absent


def _cuts_between_two(step: Mapping[str, Any]) -> bool:
    """Whether a pre-tokenizer removes nothing and decides by two adjacent characters whether to cut between them."""
    match step:
        case {"type": "Digits"}:
            return True
        case {"type": "Punctuation"}:
            return bool(step.get("behavior", "Isolated") != "Removed")
        case {"type": "Split", "pattern": {"String": str(text)}, "behavior": behavior}:
            return (
                len(text) == 1
                and text not in {" ", SPACE}
                and behavior != "Removed"
                and not step.get("invert")
            )
    return False


def listed_tokens(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the added tokens as a document lists them."""
    listed: Sequence[Mapping[str, Any]] = document.get("added_tokens") or []
    return listed


def needs_normal_text(token: Mapping[str, Any], own: Sequence[str]) -> bool:
    """Whether an added token can only be found in normalized text, if the kernel normalizes by its own steps."""
    if not token.get("normalized") or not own:
        return False
    holds_spaces = " " in token["content"] or SPACE in token["content"]
    return bool("prepend" in own or holds_spaces or token.get("lstrip") or token.get("rstrip"))


def own_step(step: Mapping[str, Any]) -> str:
    """Return the kernel's own equivalent of a normalizer: "mark", "prepend", "double" or "other"."""
    match step:
        case {"type": "Prepend", "prepend": "▁" | " "}:
            return "prepend"
        case {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}:
            return "mark"
        case {"type": "Replace", "pattern": {"Regex": r"\A▁"}, "content": "▁▁"}:
            return "double"
    return "other"
