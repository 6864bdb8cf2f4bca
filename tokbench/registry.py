"""Backends by name, imported when they are used.

The built-in backends are listed here by name only; others are found through the entry points of installed packages in
the group `tokbench.backends`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from tokbench.core.wording import meant
from tokbench.errors import BackendUnavailableError, UnknownBackendError

if TYPE_CHECKING:
    from tokbench.core.interfaces import Backend

ENTRY_POINT_GROUP = "tokbench.backends"
_MEMBERS = ("name", "summary", "kernel", "config_type", "train", "load")

_BUILT_IN = {
    "bpe": "tokbench.backends.bpe:BpeBackend",
    "sentencepiece": "tokbench.backends.sentencepiece:SentencePieceBackend",
    "unigram": "tokbench.backends.unigram:UnigramBackend",
    "wordpiece": "tokbench.backends.wordpiece:WordPieceBackend",
    "byte": "tokbench.backends.baseline:ByteBackend",
    "char": "tokbench.backends.baseline:CharBackend",
    "word": "tokbench.backends.baseline:WordBackend",
}


def backend_names() -> list[str]:
    """Return the names of all registered backends, the built-in ones first.

    >>> backend_names()[0]
    'bpe'
    """
    return [*_BUILT_IN, *sorted(set(_installed()) - set(_BUILT_IN))]


def get_backend(name: str) -> Backend:
    """Return the backend of a name.

    Raises:
        UnknownBackendError: no backend has this name; the hint lists the known names.
        BackendUnavailableError: the backend cannot be loaded, or is not a backend of this name.
    """
    target = _BUILT_IN.get(name) or _installed().get(name)
    if target is None:
        raise UnknownBackendError(
            f"there is no backend {name!r}",
            hint=meant(name, backend_names(), otherwise="the backends are {}"),
        )
    module, _, attribute = target.partition(":")
    try:
        backend = getattr(import_module(module), attribute)()
    except Exception as error:  # another package may raise anything
        what = (
            str(error)
            if isinstance(error, ImportError | AttributeError)
            else f"{type(error).__name__}: {error}"
        )
        raise BackendUnavailableError(
            f"the backend {name!r} ({target}) cannot be loaded: {what}",
            hint="install what it needs, or reinstall the package that brings it",
        ) from error
    if (fault := _fault_of(backend, name)) is not None:
        raise BackendUnavailableError(
            f"the backend {name!r} ({target}) cannot be loaded: {fault}",
            hint="this is a fault of its package: docs/backends.md says what a backend needs",
        )
    return cast("Backend", backend)


def _fault_of(backend: object, name: str) -> str | None:
    """Return what is wrong with the backend of an entry point, or None."""
    if missing := [member for member in _MEMBERS if not hasattr(backend, member)]:
        return f"it has no {', '.join(missing)}"
    own_name = getattr(backend, "name", None)
    return (
        None
        if own_name == name
        else f"it calls itself {own_name!r}, by which its tokenizers are opened again"
    )


def _installed() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
