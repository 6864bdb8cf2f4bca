"""A trained WordPiece tokenizer, and its saved folder, which other tools can open.

tokbench.json           the manifest (see `tokbench.store`)
tokenizer.json          for tokenizers and transformers; `load` reads this file
vocab.txt               the pieces, one per line; the line number from 0 is the id
tokenizer_config.json   for transformers' AutoTokenizer and BertTokenizer
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.backends.wordpiece.agreement import BertAgreement
from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse
from tokbench.core.kernel_spans import KernelSpans, spans_by_places
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted_json import load_json
from tokbench.formats.tokenizer_config.files import config_files
from tokbench.formats.tokenizer_json import dump_json
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.kernel import WordCounter
    from tokbench.core.documents import TextIdentity
    from tokbench.core.manifest import Manifest


class DocumentWordPiece(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with the library's ids for every text, run on our kernel where the two agree.

    The library encodes texts with a character that the two treat differently and texts that contain an added token to
    match; it also explains and decodes. If the document asks for something that the kernel does not support, the
    library does everything.

    Args:
        document: the content of the `tokenizer.json`.
        name: the name that the user gives the tokenizer.
        source: the name of the file in error messages; by default `name`.
        engine: "auto", or "library" to use the library alone.
        parsed: as for a `HuggingFaceTokenizer`.

    Attributes:
        library_reason: why the library runs all texts; "" if the kernel runs.

    Raises:
        ModelFormatError: the document is not a tokenizer, or the library does not accept it.
    """

    def __init__(
        self,
        document: bytes,
        *,
        name: str,
        source: Path | str | None = None,
        engine: str = "auto",
        parsed: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(document, name=name, backend="wordpiece", source=source, parsed=parsed)
        self.library_reason = "" if engine == "auto" else "asked for"
        if self.library_reason:
            return
        kernel = current_kernel()
        try:
            self._description = wordpiece_description(self._parsed)
            self._kernel_encoder = kernel.encoder(self._description)
        except (LeftToLibraryError, ValueError) as error:
            self.library_reason = str(error)
            return
        self._agreement = BertAgreement(kernel, self._description.rules)
        self.info = replace(self.info, kernel=kernel.name)

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if self.library_reason:
            return None
        added_tokens = self._description.everywhere
        if special is not SpecialPolicy.TEXT:
            if self._description.specials is None:
                return None
            added_tokens = (*added_tokens, *self._description.specials)
        agrees = self._agreement.covers
        if not added_tokens:
            return KernelUse(agrees, self._kernel_encoder, self._agreement.covers_all)

        def covers(text: str) -> bool:
            return not any(token in text for token in added_tokens) and agrees(text)

        return KernelUse(covers, self._kernel_encoder)

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        use = self._ordinary_use
        if use is None:
            return None
        return spans_by_places(
            use.covers, self._kernel_encoder.place_batch, spans=self._owned, token=self._ordinary_token
        )

    def count_tokens(self, counter: WordCounter, *, threads: int) -> int:
        """Return the number of tokens of the words of a finished counter."""
        if not self.library_reason:
            return current_kernel().count_tokens(self._kernel_encoder, counter, threads)
        words = counter.items()
        counts = self.count_batch([word for word, _ in words], threads=threads).tolist()
        return sum(count * weight for count, (_, weight) in zip(counts, words, strict=True))


DOCUMENT_NAME = "tokenizer.json"

_RETRAIN = "the folder is damaged: restore it, or train again"


class WordPieceTokenizer(DocumentWordPiece):
    """A WordPiece tokenizer trained by tokbench, which can be saved.

    Attributes:
        config: the training options, as plain data.
    """

    def __init__(
        self,
        document: bytes,
        *,
        name: str,
        config: Mapping[str, Any],
        identify_text: Callable[[], TextIdentity] | None = None,
        source: Path | None = None,
    ) -> None:
        super().__init__(document, name=name, source=source)
        self.config = dict(config)
        self.identify_text = identify_text

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens; it also has files for `tokenizers` and `transformers`.

        Raises:
            StoreError: the folder exists, or cannot be written.
        """
        import tokenizers

        config = self.tokenizer_config
        fields = _transformers_config(self.config) | {
            f"{role}_token": text for role, text in config.roles.items()
        }
        if config.named_tokens:
            fields["extra_special_tokens"] = dict(config.named_tokens)
        fields |= _transformers_class(self.config, fields)
        files = config_files(config) if config else {}
        self.write(
            directory,
            {
                **files,
                DOCUMENT_NAME: self.document,
                "vocab.txt": "".join(f"{piece}\n" for piece in self._spelled).encode(),
                "tokenizer_config.json": dump_json(fields | _inline_template(files)),
            },
            overwrite=overwrite,
            config=self.config,
            versions={"tokenizers": tokenizers.__version__},
            seed=int(self.config.get("seed", 0)),
        )


def load(directory: Path, manifest: Manifest) -> WordPieceTokenizer:
    """Open a folder that `WordPieceTokenizer.save` wrote. Raises `ModelFormatError`, `SelfTestError`."""
    files = store.read_files(directory, manifest)
    path = directory / DOCUMENT_NAME
    if DOCUMENT_NAME not in files:
        raise ModelFormatError(directory, f"a file {DOCUMENT_NAME}", "none in the manifest", hint=_RETRAIN)
    tokenizer = WordPieceTokenizer(
        files[DOCUMENT_NAME], name=manifest.name, config=manifest.config, source=path
    )
    info = tokenizer.info
    if info.vocab_size != manifest.vocab_size or info.special_tokens != manifest.special_tokens:
        raise ModelFormatError(path, "the vocabulary of the manifest", "a different one", hint=_RETRAIN)
    tokenizer.verify_against(manifest, path=directory)
    return tokenizer


def dump_document(pieces: Sequence[str], config: WordPieceConfig) -> bytes:
    """Return the `tokenizer.json` of a WordPiece whose first pieces are the special tokens."""
    specials = config.all_special_tokens
    return dump_json(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {"id": id, "content": text, "special": True}
                | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
                for id, text in enumerate(specials)
            ],
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": config.clean_text,
                "handle_chinese_chars": config.handle_chinese_chars,
                "strip_accents": config.strip_accents,
                "lowercase": config.lowercase,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": _template(specials),
            "decoder": {"type": "WordPiece", "prefix": config.continuing_prefix, "cleanup": True},
            "model": {
                "type": "WordPiece",
                "unk_token": config.unknown_token,
                "continuing_subword_prefix": config.continuing_prefix,
                "max_input_chars_per_word": config.max_characters_per_word,
                "vocab": {piece: id for id, piece in enumerate(pieces)},
            },
        }
    )


def _inline_template(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the field with the chat templates that `tokenizer_config.json` holds, if any."""
    document = load_json(files.get("tokenizer_config.json", b"{}"), path="tokenizer_config.json")
    template = document.get("chat_template") if isinstance(document, dict) else None
    return {} if template is None else {"chat_template": template}


def _template(specials: Sequence[str]) -> dict[str, Any] | None:
    """Return the template [CLS] A [SEP] for a text and [CLS] A [SEP] B [SEP] for a pair, if both tokens exist."""
    if not {"[CLS]", "[SEP]"} <= set(specials):
        return None

    def special(text: str, type_id: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": text, "type_id": type_id}}

    first = [special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0)]
    return {
        "type": "TemplateProcessing",
        "single": first,
        "pair": [*first, {"Sequence": {"id": "B", "type_id": 1}}, special("[SEP]", 1)],
        "special_tokens": {
            text: {"id": text, "ids": [specials.index(text)], "tokens": [text]} for text in ("[CLS]", "[SEP]")
        },
    }


def _transformers_config(config: Mapping[str, Any]) -> dict[str, Any]:
    named = {"unk_token": config["unknown_token"]}
    for name in ("pad", "cls", "sep", "mask"):
        if f"[{name.upper()}]" in config["special_tokens"]:
            named[f"{name}_token"] = f"[{name.upper()}]"
    return {
        **named,
        "additional_special_tokens": [
            text for text in config["special_tokens"] if text not in named.values()
        ],
        "clean_up_tokenization_spaces": True,
        "do_lower_case": config["lowercase"],
        "strip_accents": config["strip_accents"],
        "tokenize_chinese_chars": config["handle_chinese_chars"],
    }


_BERT_MODEL = {"clean_text": True, "continuing_prefix": "##", "max_characters_per_word": 100}
"""The options that transformers 5 does not read from a folder of BertTokenizer."""


def _transformers_class(config: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the class of transformers that gives the same ids: BERT's, or that of any tokenizer.json.

    BERT's class adds each of its five special tokens that has no role, with ids beyond the vocabulary, and puts the
    tokens of the roles cls and sep around every text.

    Args:
        config: the training options.
        fields: the fields of tokenizer_config.json.
    """
    framed = [fields.get("cls_token"), fields.get("sep_token")] == ["[CLS]", "[SEP]"]
    has_roles = all(f"{role}_token" in fields for role in ("pad", "mask", "unk"))
    has_model = all(config[name] == value for name, value in _BERT_MODEL.items())
    if framed and has_roles and has_model:
        return {"tokenizer_class": "BertTokenizer"}
    return {
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
