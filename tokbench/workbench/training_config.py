"""The configuration of a training: the backend, its preset and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import TrainsOnWords
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.core.interfaces import Backend
    from tokbench.workbench.count_words import TrainingWords

DEFAULT_BACKEND = "bpe"


def configured(
    backend: str | None, preset: str | None, options: Mapping[str, Any], *, special_preset: str | None
) -> tuple[Backend, Any]:
    """Return the backend and its configuration.

    Args:
        backend: name of a registered backend; by default the preset's, else "bpe".
        preset: a preset's name or path.
        options: the backend's options, which take precedence over the preset's.
        special_preset: a well-known set of special tokens.

    Raises:
        ConfigError: an option cannot be used, or the preset is for another backend.
        UnknownBackendError: no backend has that name.
    """
    from tokbench.config import build_config, check_options, load_preset
    from tokbench.core.special_presets import special_preset as preset_named
    from tokbench.core.special_presets import training_options
    from tokbench.registry import get_backend

    base: Mapping[str, Any] = {}
    for what, name in (("backend", backend), ("preset", preset)):
        if not isinstance(name, str | None):
            raise ConfigError(f"a {what} must be named by a str, not {type(name).__name__}")
    if preset is not None:
        loaded = load_preset(preset)
        if backend not in (None, loaded.backend):
            raise ConfigError(
                f"the preset {loaded.name!r} is for the backend {loaded.backend!r}, not {backend!r}",
                hint="leave out --backend, or choose another preset",
            )
        backend, base = loaded.backend, loaded.options
    chosen = get_backend(backend or DEFAULT_BACKEND)
    check_options(chosen.config_type, base, where=f"the preset {preset} for {chosen.name}")
    if special_preset is not None:
        options = training_options(preset_named(special_preset), chosen.config_type, options)
    return chosen, build_config(chosen.config_type, {**base, **options}, where=f"the backend {chosen.name!r}")


def configured_on_words(
    words: TrainingWords,
    *,
    backend: str | None,
    preset: str | None,
    options: Mapping[str, Any],
    special_preset: str | None,
) -> tuple[Any, Any]:
    """Return the backend and the configuration to train on counted words, consistent with how they were counted.

    Raises:
        ConfigError: the backend cannot train on words, or an option would have given other words.
        UnknownBackendError: no backend has that name.
    """
    from tokbench.registry import get_backend

    settings = words.settings
    if settings is None:
        chosen, config = configured(backend, preset, options, special_preset=special_preset)
    else:
        known = words.backend or DEFAULT_BACKEND
        counted_by = get_backend(known)
        merged_options = dict(options)
        if isinstance(counted_by, TrainsOnWords) and backend in (None, known) and preset is None:
            implied = counted_by.options_of_words(settings)
            if special_preset is not None:
                implied = {key: value for key, value in implied.items() if key != "special_tokens"}
            merged_options = {**implied, **merged_options}
        chosen, config = configured(
            backend if preset is not None else backend or known,
            preset,
            merged_options,
            special_preset=special_preset,
        )
    if not isinstance(chosen, TrainsOnWords):
        raise ConfigError(
            f"the backend {chosen.name!r} does not train on counted words", hint="train it on text"
        )
    now = chosen.word_counting(config).settings
    differing = [
        name for name in now if settings is not None and name != "unicode" and settings.get(name) != now[name]
    ]
    if settings is not None and differing:
        name = differing[0]
        raise ConfigError(
            f"{words.name} was counted with {name} {settings.get(name)!r}, and {now[name]!r} is asked for",
            hint="leave that option out, or count the words again with it",
        )
    return chosen, config


def parsed_options(
    texts: Iterable[str], *, backend: str | None = None, preset: str | None = None
) -> dict[str, Any]:
    """Parse options written as `key=value`, by their types in the backend that `train` would choose.

    Raises:
        ConfigError: the backend does not have an option, or a value has the wrong type.
        UnknownBackendError: no backend has that name.

    >>> parsed_options(["vocab_size=32k"], backend="bpe")
    {'vocab_size': 32000}
    """
    from tokbench.config import load_preset, parse_options
    from tokbench.registry import get_backend

    name = backend or (load_preset(preset).backend if preset is not None else DEFAULT_BACKEND)
    return parse_options(get_backend(name).config_type, texts, where=f"the backend {name!r}")
