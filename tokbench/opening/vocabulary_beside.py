"""Ids from a `vocab.json` beside a SentencePiece model, as some classes of `transformers` assign them to its pieces.

Source: `MarianTokenizer`, `M2M100Tokenizer` and `Speech2TextTokenizer` of transformers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import PostProcessing, Template, TemplatePart
from tokbench.core.token_table import check_largest_id
from tokbench.errors import ModelFormatError
from tokbench.formats.tokenizer_config.fields import is_id
from tokbench.libraries.sentencepiece.renumbered import PieceTable
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.recognition import MARIAN_SOURCE
from tokbench.opening.tokenizer_classes import class_named_in, json_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.opening.recognition import Source

_NAME = "vocab.json"
_ROLES = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
_M2M100_LANGUAGES = {
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
        "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl "
        "ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}
"""The setting `language_codes` → the languages in the order of their ids."""


def table_beside(source: Source) -> PieceTable | None:
    """Return the ids that the class of a folder assigns to the pieces of its model; None if it keeps the model's.

    Args:
        source: the model and the path that the user gave; a file, unlike a folder, always keeps the model's ids.

    Raises:
        ModelFormatError: a file that the class needs is missing or damaged, or the class does what is not supported
            here.
    """
    path = source.files[0]
    name = _class_of(source)
    if not source.path.is_dir() or name not in _TABLES:
        return None
    return _TABLES[name](source, json_beside(path.parent / "tokenizer_config.json"))


def is_renumbered(source: Source) -> bool:
    """Whether the class of a folder takes the ids of its pieces from a `vocab.json`."""
    return _class_of(source) in _TABLES


def other_ids(source: Source, pieces: Iterable[str]) -> str | None:
    """Return a sentence if a `vocab.json` beside a model gives different ids, which are not used, else None."""
    path = source.files[0]
    vocab = json_beside(path.parent / _NAME)
    if not vocab:
        return None
    found = next(((piece, id) for id, piece in enumerate(pieces) if vocab.get(piece, id) != id), None)
    if found is None:
        return None
    piece, id = found
    return f"{_NAME} says that {piece!r} is {vocab[piece]}, and {path.name} {id}, which is used"


def _class_of(source: Source) -> str | None:
    """Return the tokenizer class of the folder that holds a model."""
    folder = source.files[0].parent
    if source.files[0].name == MARIAN_SOURCE:
        return "MarianTokenizer"
    return class_named_in(folder)


def _marian(source: Source, settings: Mapping[str, Any]) -> PieceTable:
    if settings.get("separate_vocabs"):
        raise _impossible(source, "separate_vocabs: two vocabularies, one for texts and one for translations")
    ids = _ids_in_file(source, "MarianTokenizer")
    roles = _roles(source, ("eos", "unk", "pad"))
    languages = {text: id for text, id in ids.items() if text.startswith(">>") and text.endswith("<<")}
    return _table(source, ids, roles=roles, others=languages)


def _m2m100(source: Source, settings: Mapping[str, Any]) -> PieceTable:
    ids = _ids_in_file(source, "M2M100Tokenizer")
    listed = _M2M100_LANGUAGES.get(settings.get("language_codes", "m2m100"))
    if listed is None:
        raise _impossible(source, f"the language codes {settings['language_codes']!r}")
    languages = {f"__{code}__": id for id, code in enumerate(listed.split(), start=len(ids))}
    language = f"__{settings.get('src_lang') or 'en'}__"
    if language not in languages:
        raise _impossible(
            source, f"the language {settings['src_lang']!r}, which is none of those of the class"
        )
    roles = _roles(source, tuple(_ROLES))
    return _table(source, ids, roles=roles, others=languages, before=(language,))


def _speech2text(source: Source, settings: Mapping[str, Any]) -> PieceTable:
    for setting in ("lang_codes", "do_upper_case"):
        if settings.get(setting):
            raise _impossible(source, f"the setting {setting}")
    ids = _ids_in_file(source, "Speech2TextTokenizer")
    roles = _roles(source, tuple(_ROLES))
    return _table(source, ids, roles=roles, others={})


_TABLES: dict[str | None, Callable[[Source, Mapping[str, Any]], PieceTable]] = {
    "MarianTokenizer": _marian,
    "M2M100Tokenizer": _m2m100,
    "Speech2TextTokenizer": _speech2text,
}


def _table(
    source: Source,
    ids: Mapping[str, int],
    *,
    roles: Mapping[str, str],
    others: Mapping[str, int],
    before: tuple[str, ...] = (),
) -> PieceTable:
    """Build the table of a class; its special tokens are those with a role, and `others`. A text ends with eos."""
    beside = {token.content: token.id for token in source.config.added_tokens if token.special}
    specials = {**beside, **others, **{text: ids[text] for text in roles.values() if text in ids}}
    begin, end = _parts(before, specials), _parts((roles["eos"],), specials)
    first, second = TemplatePart(0), TemplatePart(1)
    return PieceTable(
        ids=ids,
        unknown=roles["unk"],
        special_tokens=specials,
        roles=roles,
        post_processing=PostProcessing(
            template=Template(
                single=(*begin, first, *end),
                pair=(*begin, first, second, *end),
            )
        ),
    )


def _parts(texts: Iterable[str], ids: Mapping[str, int]) -> tuple[TemplatePart, ...]:
    return tuple(TemplatePart(None, (text,), (ids[text],)) for text in texts if text in ids)


def _roles(source: Source, names: Iterable[str]) -> dict[str, str]:
    """Return role → text of a class's special tokens, from the files beside the model or else the usual ones."""
    return {name: source.config.roles.get(name, _ROLES[name]) for name in names}


def _ids_in_file(source: Source, name: str) -> dict[str, int]:
    """Read the ids of a `vocab.json`. Raises `ModelFormatError`."""
    path = source.files[0].parent / _NAME
    if not path.is_file():
        raise ModelFormatError(
            source.path,
            f"a {_NAME} beside {source.files[0].name}, from which a {name} takes the ids of its pieces",
            "none",
            hint=f"get {_NAME}, too; or name {source.files[0]} to open it with its own ids, not the model's",
        )
    ids = parse_json(read_file(path), path=path)
    if not ids or not all(is_id(id) for id in ids.values()):
        raise ModelFormatError(path, "pieces with their ids", "something else", hint="get the file again")
    check_largest_id(max(ids.values()), num_entries=len(ids), path=path)
    if len(set(ids.values())) != len(ids):
        twice = next(id for id, count in Counter(ids.values()).items() if count > 1)
        raise ModelFormatError(path, "each id once", f"{twice} twice", hint="get the file again")
    unknown = _roles(source, ("unk",))["unk"]
    if unknown not in ids:
        raise ModelFormatError(
            path, f"an id of the unknown token {unknown!r}", "none", hint="get the file again"
        )
    return ids


def _impossible(source: Source, what: str) -> ModelFormatError:
    return ModelFormatError(
        source.path,
        "a folder whose ids are those of one vocabulary",
        what,
        hint=f"name {source.files[0]} to open it with its own ids, not the model's",
    )
