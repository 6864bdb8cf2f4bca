"""Find settings of a tokenizer_config.json, and SentencePiece models, that contradict the vocabulary beside them.

A class of `transformers` may follow the configuration. Here the vocabulary's own file takes precedence, and the
difference is reported. Of a model with other ids than the `tokenizer.json` beside it, one of the two is out of date.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.post_processing import roles_in
from tokbench.core.wording import counted, is_or_are
from tokbench.errors import TokbenchError
from tokbench.files.untrusted import decode_text
from tokbench.formats.post_processors import UnknownPostProcessingError, parse_post_processing
from tokbench.formats.sentencepiece.model import looks_like_model, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_config.fields import ROLES
from tokbench.formats.tokenizer_config.files import prefixes_space
from tokbench.libraries.huggingface.tokenizer_json import model_ids, model_type, steps
from tokbench.opening.class_tokens import CLASS_ROLES
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.piece_order import piece_order
from tokbench.opening.sentencepiece_classes import template_of_class
from tokbench.opening.tokenizer_classes import class_named_in, json_beside, known_class, read_declared
from tokbench.opening.vocabulary_beside import is_renumbered
from tokbench.opening.word_list import word_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import TemplatePart
    from tokbench.formats.sentencepiece.pieces import ModelPiece
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source

_CONFIG = "tokenizer_config.json"
_BERT = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
"""Options of BERT's classes → the options of the normalizer that they set."""
_ENDS = {
    "CodeLlamaTokenizer": (True, False),
    "CohereTokenizer": (True, False),
    "GemmaTokenizer": (True, False),
    "GPTNeoXTokenizer": (False, False),
    "LlamaTokenizer": (True, False),
}
"""Classes of transformers 4 that put bos and eos around a text by settings, not by the file → the default settings."""

_OF_LANGUAGES = ("MBartTokenizer", "MBart50Tokenizer", "NllbTokenizer", "SeamlessM4TTokenizer")
"""Classes that put the token of the language `src_lang` beside a text."""
_PUBLISHED = ("BaichuanTokenizer", "InternLM2Tokenizer", "InternLMTokenizer")
"""Classes published with their models that put bos in front of a text by default."""
_VOCABULARIES, _WORD_LIST = ("vocab.json", "encoder.json"), "vocab.txt"
_LISTS_OF_MERGES = ("merges.txt", "vocab.bpe")
_MODEL_NAMES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model")


class Contradiction(NamedTuple):
    """A setting whose value differs from the vocabulary's own file.

    Attributes:
        option: its name in tokenizer_config.json.
        said: its value there.
        its: its value in the vocabulary's own file.
        is_default: whether the value there is the default of transformers 4, because the file does not set the option.
    """

    option: str
    said: bool
    its: bool
    is_default: bool = False

    def sentence(self, name: str) -> str:
        """Return a sentence about the contradiction, for a vocabulary file of that name."""
        said, its = str(self.said).lower(), str(self.its).lower()
        configured = (
            f"{_CONFIG} does not set {self.option}, which transformers 4 takes as {said},"
            if self.is_default
            else f"{_CONFIG} says {self.option}={said},"
        )
        return f"{configured} and {name} {its}, which is used: transformers may give different ids"


def contradictions(document: Mapping[str, Any], *, folder: Path) -> Iterator[Contradiction]:
    """Yield contradictions between a `tokenizer.json` and the configuration beside it.

    Args:
        document: the parsed `tokenizer.json`.
        folder: its folder.
    """
    configured = json_beside(folder / _CONFIG)
    for normalizer in steps(document.get("normalizer")):
        if normalizer.get("type") == "BertNormalizer":
            unset = {"strip_accents": normalizer.get("lowercase")}  # null means as lowercase
            for option, normalizer_option in _BERT.items():
                own = normalizer.get(normalizer_option)
                yield from _contradiction(configured, option, unset.get(option) if own is None else own)
    preparing = [*steps(document.get("normalizer")), *steps(document.get("pre_tokenizer"))]
    if prefixes := [is_put for step in preparing if (is_put := _prefixes_space(step)) is not None]:
        yield from _contradiction(configured, "add_prefix_space", any(prefixes))
    if configured and "add_prefix_space" not in configured and prefixes_space(document):
        known = known_class(class_named_in(folder))
        if known is None or not known.add_prefix_space:
            yield Contradiction("add_prefix_space", said=False, its=True, is_default=True)


def _prefixes_space(step: Mapping[str, Any]) -> bool | None:
    """Return whether a normalizer or pre-tokenizer puts a space in front of a text; None if it is of another kind."""
    match step.get("type"):
        case "ByteLevel" if "add_prefix_space" in step:
            return bool(step["add_prefix_space"])
        case "Metaspace" if "prepend_scheme" in step:
            return bool(step["prepend_scheme"] != "never")
        case "Metaspace":
            return bool(step.get("add_prefix_space", True))
        case "Prepend":
            return True
    return None


def contradicted_tokenizer_json(
    document: Mapping[str, Any], *, folder: Path, name: str, config: TokenizerConfig
) -> Iterator[str]:
    """Yield a sentence for each contradiction: of a setting, of the language, and at the ends of a text.

    Args:
        document: a parsed `tokenizer.json`.
        folder: its folder.
        name: its name in the sentences.
        config: the configuration read from the folder.
    """
    yield from (contradiction.sentence(name) for contradiction in contradictions(document, folder=folder))
    yield from _contradicted_language(document, folder=folder, name=name)
    yield from _contradicted_ends(document, folder=folder, name=name, config=config)
    yield from _contradicted_roles(document, folder=folder, name=name, config=config)


def other_decoding(document: Mapping[str, Any], *, folder: Path) -> Iterator[str]:
    """Yield a sentence if the class of a folder changes decoded texts, which no file says and which is not done here.

    Args:
        document: a parsed `tokenizer.json`, or one that was made of other files.
        folder: the folder of the files.
    """
    model = document.get("model")
    suffix = model.get("end_of_word_suffix") if isinstance(model, dict) else None
    decoders = {step.get("type") for step in steps(document.get("decoder"))}
    if suffix and decoders == {"ByteLevel"} and class_named_in(folder) == "CLIPTokenizer":
        yield (
            f"a CLIPTokenizer decodes {suffix} as a space and strips the text, which no file says and is not done "
            f"here: 'a{suffix}b{suffix}' is 'a b' there"
        )


def _contradicted_ends(
    document: Mapping[str, Any], *, folder: Path, name: str, config: TokenizerConfig
) -> Iterator[str]:
    """Yield a sentence for each end of a text at which the class writes something else than the template."""
    class_name = read_declared(folder, config).class_name or ""
    if class_name not in _ENDS:
        return
    parts = _template(document)
    if parts is None:
        return
    said = json_beside(folder / _CONFIG)
    for role, part, default in zip(("bos", "eos"), (parts[:1], parts[-1:]), _ENDS[class_name], strict=True):
        text = config.roles.get(role)
        is_put, is_there = (
            bool(said.get(f"add_{role}_token", default)),
            any(text in each.tokens for each in part),
        )
        if text is not None and is_put != is_there:
            end = "in front of" if role == "bos" else "after"
            yield (
                f"the {class_name} of transformers 4 puts {text if is_put else 'nothing'} {end} a text, and the "
                f"template of {name} {text if is_there else 'nothing'}, which is used"
            )


def _contradicted_roles(
    document: Mapping[str, Any], *, folder: Path, name: str, config: TokenizerConfig
) -> Iterator[str]:
    """Yield a sentence for each role whose token the class writes around a text, and the template another one."""
    class_name = read_declared(folder, config).class_name or ""
    parts, known = _template(document), known_class(class_name)
    single = template_of_class(class_name) if known is None else known.around[0]
    if class_name in _ENDS or single is None or not parts:
        return
    written = {text for part in parts for text in part.tokens}
    usual = known.roles if known else CLASS_ROLES.get(class_name, {})
    for role in roles_in(single):
        text = config.roles.get(role)
        if role in ROLES and text is not None and text not in written and usual.get(role) in written:
            yield (
                f"the files say that {role} is {text!r}, which a {class_name} writes around a text, and the template "
                f"of {name} {usual[role]!r}, which is used"
            )


def _contradicted_language(document: Mapping[str, Any], *, folder: Path, name: str) -> Iterator[str]:
    """Yield a sentence if the class writes the token of another language than the template does."""
    class_name, said = class_named_in(folder), json_beside(folder / _CONFIG).get("src_lang")
    if class_name not in _OF_LANGUAGES or not isinstance(said, str):
        return
    parts = _template(document)
    if parts is None:
        return
    written = {text for part in parts for text in part.tokens}
    if not written & {said, f"__{said}__"}:
        yield (
            f"{_CONFIG} says src_lang={said}, whose token a {class_name} puts beside a text, and the template of "
            f"{name} has another one, which is used"
        )


def _template(document: Mapping[str, Any]) -> tuple[TemplatePart, ...] | None:
    """Return the template for one text, empty if there is none; None if it is not known."""
    try:
        template = parse_post_processing(document).template
    except UnknownPostProcessingError:
        return None
    return () if template is None else template.single


def unsaid_begin(config: TokenizerConfig, *, folder: Path, usual: str) -> Iterator[str]:
    """Yield a sentence if the class of a SentencePiece model begins a text with bos by a default that no file states.

    Args:
        config: the configuration read from the folder.
        folder: the folder of the model.
        usual: the bos of the model, unless the files say otherwise.
    """
    name = read_declared(folder, config).class_name or ""
    begins = name in _PUBLISHED or _ENDS.get(name, (False,))[0]
    if begins and config.add_bos_token is None:
        version = "" if name in _PUBLISHED else " of transformers 4"
        yield (
            f"no file sets add_bos_token: the {name}{version} puts {config.roles.get('bos', usual)} in front of a text "
            "by default, which is not done here"
        )


def contradicted_model(*, add_dummy_prefix: bool, folder: Path, name: str) -> Iterator[str]:
    """Yield a sentence for each contradiction between a SentencePiece model and the configuration beside it.

    Args:
        add_dummy_prefix: whether the model puts a space in front of a text.
        folder: its folder.
        name: its name in the sentences.
    """
    found = _contradiction(json_beside(folder / _CONFIG), "add_prefix_space", add_dummy_prefix)
    return (contradiction.sentence(name) for contradiction in found)


def _contradiction(configured: Mapping[str, Any], option: str, own_value: object) -> Iterator[Contradiction]:
    configured_value = configured.get(option)
    if isinstance(configured_value, bool) and isinstance(own_value, bool) and configured_value != own_value:
        yield Contradiction(option, configured_value, own_value)


def other_models(document: Mapping[str, Any], source: Source) -> Iterator[str]:
    """Yield a sentence for each model beside a `tokenizer.json` in which a piece has another id.

    Args:
        document: the parsed `tokenizer.json`.
        source: its file, and the path that the user gave.
    """
    ids = model_ids(document)
    for path in (source.files[0].parent / name for name in _MODEL_NAMES):
        try:
            data = read_file(path) if path.is_file() else b""
            pieces = parse_model(data, path=path).pieces if looks_like_model(data) else []
        except TokbenchError:
            continue
        if _is_reordered(source, pieces):
            continue
        for id, piece in enumerate(pieces):
            other = ids.get(piece.text, id)
            if piece.type is PieceType.NORMAL and other != id:
                said = f"{piece.text!r} is {id}", f"{other}"
                yield _of_two(path.name, said, used=source.files[0].name)
                break


def other_vocabulary(document: Mapping[str, Any], source: Source) -> Iterator[str]:
    """Yield a sentence for each vocabulary and merges.txt beside a `tokenizer.json` with other ids or merges.

    Args:
        document: the parsed `tokenizer.json`.
        source: its file.
    """
    folder, name = source.files[0].parent, source.files[0].name
    vocab, merges = (document["model"].get(part) for part in ("vocab", "merges"))
    others = {vocab_name: _parsed_beside(folder / vocab_name) for vocab_name in _VOCABULARIES}
    # Files of this name have other lines where the model is another one.
    if model_type(document) in {"WordPiece", "WordLevel"}:
        others[_WORD_LIST] = _listed_beside(folder / _WORD_LIST)
    for other_name, other in others.items() if isinstance(vocab, dict) else ():
        moved = next((piece for piece, id in other.items() if vocab.get(piece, id) != id), None)
        if moved is not None:
            said = f"{moved!r} is {other[moved]!r:.20}", f"{vocab[moved]}"
            yield _of_two(other_name, said, used=name)
    for merges_name in _LISTS_OF_MERGES:
        if isinstance(merges, list) and (lines := _merges_beside(folder / merges_name)) is not None:
            own = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
            if own != lines:
                rank = next(
                    (n for n, pair in enumerate(zip(own, lines, strict=False)) if len({*pair}) > 1), None
                )
                if rank is None:
                    said = f"there {is_or_are(len(lines))} {counted(len(lines), 'merge')}", f"{len(own):,}"
                else:
                    said = f"merge {rank:,} is {lines[rank]!r:.80}", f"{own[rank]!r:.80}"
                yield _of_two(merges_name, said, used=name)


def _of_two(name: str, said: tuple[str, str], *, used: str) -> str:
    return f"{name} says that {said[0]}, and {used} {said[1]}, which is used: the two files are not of one tokenizer"


def _parsed_beside(path: Path) -> dict[str, Any]:
    """Return a vocabulary beside a `tokenizer.json`; empty if there is none that can be read."""
    try:
        return parse_json(read_file(path), path=path) if path.is_file() else {}
    except TokbenchError:
        return {}


def _listed_beside(path: Path) -> dict[str, int]:
    """Return the ids of a word list beside a `tokenizer.json`; empty if there is none that can be read."""
    try:
        return word_list(decode_text(read_file(path), path=path))[0] if path.is_file() else {}
    except TokbenchError:
        return {}


def _merges_beside(path: Path) -> list[str] | None:
    """Return the merges in a file beside a `tokenizer.json`; None if there is none that can be read."""
    try:
        text = decode_text(read_file(path), path=path) if path.is_file() else None
    except TokbenchError:
        return None
    if text is None:
        return None
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line.strip() and not line.startswith("#version")]


def _is_reordered(source: Source, pieces: Sequence[ModelPiece]) -> bool:
    """Whether the class of a folder gives the pieces of its model other ids."""
    folder = replace(source, path=source.files[0].parent)
    return is_renumbered(folder) or piece_order(folder, [piece.text for piece in pieces]) is not None
