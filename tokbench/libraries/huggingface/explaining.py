"""What `tokbench explain` asks of a `tokenizer.json`: how a text became ids, and its merges."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.core.base import utf8
from tokbench.libraries.huggingface import tokenizer_json as reading
from tokbench.libraries.huggingface.engines import library_errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.explain.derivation import Derivation
    from tokbench.explain.records import MergeRecord
    from tokbench.libraries.huggingface.derivation import DocumentExplainer
    from tokbench.libraries.huggingface.engines import Engines


class ExplainsDocument:
    """The part of a tokenizer that explains its tokens; the other part sets these attributes.

    Attributes:
        _parsed: the `tokenizer.json` as it runs.
        _engines: the copies of the library that run it.
        _source: what error messages call the file.
        _spelled: how each token is spelled in the file → its id.
    """

    _parsed: dict[str, Any]
    _engines: Engines
    _source: Path | str
    _spelled: Mapping[str, int]

    def derivation(self, text: str) -> Derivation:
        """The steps by which a text becomes ids, in which nothing is a special token. Raises `TextError`."""
        utf8(text)
        with library_errors(self._source):
            return self._explainer.derivation(text)

    @property
    def num_merges(self) -> int:
        """How many merges there are; 0 where the model has none."""
        return self._explainer.tracer.num_merges

    def merge_record(self, rank: int) -> MergeRecord:
        """A merge by its rank: what it joins."""
        return self._explainer.tracer.record(rank)

    @cached_property
    def _explainer(self) -> DocumentExplainer:
        from tokbench.libraries.huggingface.derivation import DocumentExplainer

        document = reading.with_unspeakable_specials(self._parsed, self._engines.unspeakable)
        return DocumentExplainer(
            document, self._engines.plain, {id: text for text, id in self._spelled.items()}
        )
