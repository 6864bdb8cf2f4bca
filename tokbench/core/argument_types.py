"""Check argument types: a wrong type raises an error of tokbench, in every tokenizer and where tokenizers are given.

`ChecksArguments` wraps the methods of derived classes by the kind of their argument: texts, ids, one id, a piece or a
folder. A single text is checked where it is encoded as UTF-8 (`tokbench.core.base.utf8`), so that short texts cost no
extra call. The elements of a sequence are checked only after the method has failed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import wraps
from operator import index
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.errors import ConfigError, DecodeError, StoreError, TextError, TokbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import SupportsIndex, TypeAlias

    from tokbench.core.interfaces import Tokenizer

    GivenTokenizer: TypeAlias = Tokenizer | str | os.PathLike[str]


MAX_THREADS = 1 << 16
"""The largest number of threads that may be requested."""

_INTEGERS = "iu"
"""The NumPy dtype kinds of integer arrays."""


class ChecksArguments:
    """A tokenizer whose methods, and those of derived classes, check the types of their arguments."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, guard in _GUARDS.items():
            if name in cls.__dict__:
                setattr(cls, name, guard(cls.__dict__[name]))


def not_a_text(given: object) -> TextError:
    """Return the error for an argument that is not a text."""
    hint = "give decoded text" if isinstance(given, bytes | bytearray | memoryview) else None
    return TextError(f"a text must be a str, not {_type_name(given)}", hint=hint)


def check_errors(errors: object) -> None:
    """Reject an unknown way of decoding bytes that are not UTF-8. Raises `ConfigError`.

    >>> check_errors("strict")
    """
    if errors in ("replace", "strict"):
        return
    try:
        b"\xff".decode(errors=errors)  # type: ignore[arg-type]
    except UnicodeDecodeError:
        pass
    except (LookupError, TypeError):  # TypeError also for those that only encode, as "xmlcharrefreplace"
        raise ConfigError(f"unknown errors {errors!r:.40}", hint='choose "replace" or "strict"') from None


def texts_of(given: Iterable[str]) -> Sequence[str]:
    """Return the texts as a sequence without checking its items. Raises `TextError` for a single text or another type.

    >>> texts_of(text.lower() for text in ["A", "B"])
    ['a', 'b']
    """
    if isinstance(given, list | tuple):
        return given
    if isinstance(given, str | bytes | bytearray):
        raise TextError(
            f"a list of texts is needed, not one {type(given).__name__}",
            hint="put it into a list: [text]; `encode` takes one text",
        )
    if not isinstance(given, Iterable):
        raise TextError(f"a list of texts is needed, not {_type_name(given)}")
    return list(given)


def ids_of(given: Iterable[SupportsIndex]) -> Sequence[int]:
    """Return the ids as a sequence without checking its items. Raises `DecodeError` for another type.

    >>> ids_of(iter([7, 8]))
    [7, 8]
    """
    if isinstance(given, list | tuple):
        return given
    if isinstance(given, str | bytes | bytearray | Mapping) or not isinstance(given, Iterable):
        hint = "`token_bytes` takes one id" if _is_integer(given) else None
        raise DecodeError(f"a list of ids is needed, not {_type_name(given)}", hint=hint)
    dimensions = getattr(given, "ndim", 1)
    if dimensions != 1:
        raise DecodeError(
            f"a list of ids is needed, not an array of {counted(dimensions, 'dimension')}",
            hint="give one row of it at a time" if dimensions else "`token_bytes` takes one id",
        )
    kind = getattr(getattr(given, "dtype", None), "kind", "")
    if kind and kind in _INTEGERS:
        return given  # type: ignore[return-value]
    if kind and len(given):  # type: ignore[arg-type]
        raise DecodeError(f"ids must be whole numbers, not an array of {given.dtype}")  # type: ignore[attr-defined]
    return list(given) if not hasattr(given, "__len__") else given  # type: ignore[arg-type, return-value]


def whole_ids(given: Iterable[SupportsIndex]) -> list[int]:
    """Return the ids as Python integers. Raises `DecodeError` for anything else.

    >>> whole_ids((7, 8))
    [7, 8]
    """
    ids = ids_of(given)
    try:
        return list(map(index, ids))
    except TypeError:
        raise _not_integers(ids) from None


def plain_int(given: Any) -> Any:
    """Return an integer of another library, such as `numpy.int64`, as an `int`, and any other value as it is.

    >>> plain_int(7), plain_int("longest")
    (7, 'longest')
    """
    return index(given) if type(given) is not bool and _is_integer(given) else given


def one_or_more_ids(given: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """Return one id, or several, as Python integers. Raises `DecodeError` for anything else.

    >>> one_or_more_ids(7), one_or_more_ids(iter([7, 8]))
    ([7], [7, 8])
    """
    if isinstance(given, int):
        return [given]
    try:
        return [index(given)]  # type: ignore[arg-type]
    except TypeError:
        return whole_ids(given)  # type: ignore[arg-type]


def _not_integers(ids: Iterable[object]) -> DecodeError:
    """Return the error for a list in which an id is not an integer."""
    position, id = next((position, id) for position, id in enumerate(ids) if not _is_integer(id))
    return DecodeError(f"ids must be whole numbers, but the id at position {position} is {_type_name(id)}")


def _checking_texts(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checking_texts(self: Any, texts: Iterable[str], **options: Any) -> Any:
        if "threads" in options:
            options["threads"] = plain_int(options["threads"])
            _check_threads(options["threads"])
        given = texts if type(texts) is list else texts_of(texts)
        try:
            return method(self, given, **options)
        except (TypeError, AttributeError):
            for text in given:
                if not isinstance(text, str):
                    raise not_a_text(text) from None
            raise

    return checking_texts


def _checking_ids(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checking_ids(self: Any, ids: Iterable[int]) -> Any:
        given = ids if type(ids) is list else ids_of(ids)
        try:
            return method(self, given)
        except TokbenchError:
            raise
        except (TypeError, AttributeError, ValueError, LookupError):
            if all(map(_is_integer, given)):
                raise
            raise _not_integers(given) from None

    return checking_ids


def _checking_id(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checking_id(self: Any, id: int) -> Any:
        if type(id) is not int:
            try:
                id = index(id)
            except TypeError:
                raise DecodeError(f"an id must be a whole number, not {_type_name(id)}") from None
        return method(self, id)

    return checking_id


def _checking_piece(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checking_piece(self: Any, piece: object) -> Any:
        if not isinstance(piece, bytes):
            hint = "give its UTF-8: piece.encode()" if isinstance(piece, str) else None
            raise TextError(f"a piece must be bytes, not {_type_name(piece)}", hint=hint)
        return method(self, piece)

    return checking_piece


def _checking_folder(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checking_folder(self: Any, directory: object, **options: Any) -> Any:
        if not isinstance(directory, str | os.PathLike):
            raise StoreError(f"a folder must be given as a path, not {_type_name(directory)}")
        return method(self, directory, **options)

    return checking_folder


def _check_threads(threads: object) -> None:
    if threads is not None and (not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS):
        raise ConfigError(
            f"threads is {threads!r:.40}, where a number from 1 to {MAX_THREADS} is needed, or None for all"
        )


def _is_integer(id: object) -> bool:
    try:
        index(id)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _type_name(given: object) -> str:
    """Return the name of a value's type for an error message, or "None"."""
    return "None" if given is None else type(given).__name__


_GUARDS: Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(("encode_batch", "count_batch", "encode_spans"), _checking_texts),
    "decode_bytes": _checking_ids,
    **dict.fromkeys(("token_bytes", "score"), _checking_id),
    "token_id": _checking_piece,
    "save": _checking_folder,
}


def opened(given: GivenTokenizer) -> Tokenizer:
    """Return the tokenizer, after opening one that is given by its path or name.

    Raises:
        ConfigError: it is neither a tokenizer nor a path or name.
        StoreError, ModelFormatError: as `tokbench.load`.
    """
    import tokbench  # its lazy public names: opening/ stands above core/

    if isinstance(given, str | os.PathLike):
        return tokbench.load(given)
    if getattr(given, "segment", None) is None:
        raise ConfigError(f"{given!r:.60} is not a tokenizer, nor the path or name of one")
    return given


def all_opened(given: Iterable[GivenTokenizer]) -> list[Tokenizer]:
    """Return the tokenizers of a list; raises as `opened`, and `ConfigError` for what is not a list.

    >>> all_opened([])
    []
    """
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        raise ConfigError(f"tokenizers is {given!r:.60}, where a list is needed", hint="put it into one")
    return list(map(opened, given))
