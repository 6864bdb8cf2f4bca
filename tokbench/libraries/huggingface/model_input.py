"""The model input for texts from a `tokenizer.json`: by its post-processor, truncation and padding."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.core.base import TakesTemplate, utf8
from tokbench.core.kernel_or_library import KernelOrLibrary
from tokbench.core.post_processing import model_input
from tokbench.core.tokens import ModelInput, SpecialPolicy
from tokbench.errors import ConfigError, TextError
from tokbench.formats.post_processors import UnknownPostProcessingError, parse_post_processing
from tokbench.libraries.huggingface.engines import RunsDocument, text_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import tokenizers

    from tokbench.core.descriptions import PostProcessing

POST_PROCESSING_PARTS = ("post_processor", "truncation", "padding")
"""The parts of a document that make a model's input of ids."""


class GivesModelInput(RunsDocument, TakesTemplate):
    """A tokenizer that gives model input; it sets this attribute.

    Attributes:
        _post_processing_parts: the parts of the file as it lists them.
    """

    _post_processing_parts: Mapping[str, Any]

    @abstractmethod
    def _engine_for(self, texts: Sequence[str], *, special: SpecialPolicy) -> tokenizers.Tokenizer:
        """Return the library's tokenizer for a special policy. Raises `SpecialTokenError`."""

    @cached_property
    def post_processing(self) -> PostProcessing:
        """The post-processing of the ids of a text before a model gets them.

        Raises:
            ConfigError: the file's post-processor does more than a template can express.
        """
        try:
            return parse_post_processing(self._post_processing_parts)
        except UnknownPostProcessingError as error:
            raise ConfigError(
                f"the template of {self.info.name!r} is not known: {error}", hint="leave the template out"
            ) from None

    @cached_property
    def _known_post_processing(self) -> PostProcessing | None:
        try:
            return self.post_processing
        except ConfigError:
            return None

    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """Return the model input for one text or a pair; the template is the file's post-processor.

        The library gives it, except where our kernel encodes and the post-processing is known. See `TakesTemplate`.
        """
        if isinstance(self, KernelOrLibrary) and self._use_for(special) is not None:
            known = self._known_post_processing
            if known is not None:
                ids = [self.encode(text, special=special) for text in texts]
                return model_input(known, ids, template=template, limits=limits)
        for text in texts:
            utf8(text)
        pair = texts[1] if len(texts) == 2 else None
        engine = self._engine_for(texts, special=special)
        if limits and self._engines.limits:
            engine = self._engines.limited(specials=special is SpecialPolicy.ENCODE)
        with text_errors(self._source):
            try:
                encoding = engine.encode(texts[0], pair, add_special_tokens=template)
            except Exception as error:
                if not limits or not self._engines.limits:
                    raise
                raise TextError(
                    f"the text cannot be truncated as the file asks: {error}",
                    hint="limits=False does not truncate",
                ) from None
        return ModelInput(tuple(encoding.ids), tuple(encoding.type_ids), tuple(encoding.attention_mask))
