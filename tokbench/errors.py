"""The exceptions of tokbench, as one tree.

Each error carries a message (what, where) and a hint (what to do next); the command line prints both and exits
with the class's code. Errors are printed nowhere else.

    TokbenchError
    ├── ConfigError               an option, preset or pattern that cannot be used     exit 2
    ├── CorpusError               a text that is missing, empty, unreadable, not UTF-8
    ├── TextError                 an argument that is not text, or a string without a UTF-8 form
    ├── UnknownBackendError       no backend of that name                              exit 2
    ├── BackendUnavailableError   a backend whose library is not installed
    ├── TrainingError             a training that cannot succeed
    ├── StoreError                a folder that cannot be written or found
    ├── SpecialTokenError         a special token's text where it is not allowed
    ├── UnknownIdError            an id outside the vocabulary
    ├── DecodeError               an argument that is not ids, or ids whose bytes are not UTF-8, decoded strictly
    ├── TemplateError             a conversation that a chat template does not render
    ├── PageError                 a tokenizer that an HTML page cannot run exactly
    ├── ModelFormatError          a file that is not what it claims to be
    │   ├── SelfTestError         a loaded tokenizer that gives different ids than when saved
    │   └── UnknownWordError      a text that a model without an unknown token cannot encode
    ├── ConversionError           a conversion that cannot be exact
    │   ├── SurgeryError          a vocabulary that cannot be changed safely
    │   └── ProofError            one that was made and is found not to be (convert/proof.py)   exit 3
    └── DistributedError          parts of a step that failed on an engine, or an engine that cannot be used
"""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.tokens import Span


class TokbenchError(Exception):
    """The base class: a message for the user, and a hint what to do next.

    >>> str(TokbenchError("corpora/x.txt is empty", hint="name a file with text"))
    'corpora/x.txt is empty'
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what `pickle` writes: the message and all attributes, whatever arguments the class takes."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ConfigError(TokbenchError):
    """An option, a preset or a pattern that cannot be used."""

    exit_code = 2


class CorpusError(TokbenchError):
    """A text that is missing, empty, unreadable, or not UTF-8."""


class TextError(TokbenchError):
    """An argument that is not a text, or a string with no UTF-8 form (it has a lone surrogate)."""


class UnknownBackendError(TokbenchError):
    """No backend of that name."""

    exit_code = 2


class BackendUnavailableError(TokbenchError):
    """A backend whose library is not installed; the hint is the pip command."""


class TrainingError(TokbenchError):
    """A training that cannot succeed."""


class StoreError(TokbenchError):
    """A folder that cannot be written, or a tokenizer that cannot be found."""


class SpecialTokenError(TokbenchError):
    """A special token's text in a text that must not contain one; `place` names the file and line, if known."""

    def __init__(self, token: str, span: Span, *, place: str | None = None) -> None:
        where = "" if place is None else f"{place}: "
        super().__init__(
            f"{where}the text contains the special token {token!r} at bytes {span.start}-{span.stop}",
            hint="pass special=SpecialPolicy.TEXT (--special-policy text) to encode it as ordinary text, "
            "SpecialPolicy.ENCODE (--special-policy encode) to make it the special token, or take it out of the text",
        )
        self.token = token
        self.span = span


class UnknownIdError(TokbenchError):
    """An id that is not in the vocabulary."""

    def __init__(self, id: int, position: int, vocab_size: int) -> None:
        super().__init__(
            f"id {id} at position {position} is not in the vocabulary of {vocab_size:,} tokens",
            hint=f"ids run from 0 to {vocab_size - 1}; were they made by another tokenizer?",
        )
        self.id = id
        self.position = position
        self.vocab_size = vocab_size


class DecodeError(TokbenchError):
    """An argument that is not a list of ids, or ids whose bytes are not UTF-8, decoded with errors="strict"."""


class TemplateError(TokbenchError):
    """A chat template that refuses a conversation, is not a template, fails, or exceeds its limits."""


class ModelFormatError(TokbenchError):
    """A file that is not what it claims to be: the file, what was expected, what was found."""

    def __init__(self, path: Path | str, expected: str, found: str, *, hint: str | None = None) -> None:
        super().__init__(f"{path}: expected {expected}, found {found}", hint=hint)
        self.path = path
        self.expected = expected
        self.found = found


class SelfTestError(ModelFormatError):
    """A loaded tokenizer whose ids differ from those at the time of saving."""


class UnknownWordError(ModelFormatError):
    """A text that a model without an unknown token cannot encode."""


class ConversionError(TokbenchError):
    """A conversion that cannot be exact; `reason` says why."""

    what = "this conversion cannot be exact"

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{self.what}: {reason}", hint=hint)
        self.reason = reason


class SurgeryError(ConversionError):
    """A vocabulary that cannot be changed safely; `reason` says why."""

    what = "this vocabulary cannot be changed"


class PageError(TokbenchError):
    """A tokenizer that an HTML page cannot run exactly, or not at all; nothing was written."""


class DistributedError(TokbenchError):
    """Parts of a step that failed on an engine, or an engine that cannot be used."""
