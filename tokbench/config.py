"""Presets, and conversion of options to a backend's configuration: an unknown key is an error with a suggestion."""

from __future__ import annotations

import dataclasses
import json
import re
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from tokbench.core.argument_types import plain_int
from tokbench.core.wording import meant
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.bundled import configs_directory
from tokbench.files.untrusted import decode_text, read_regular, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MAX_PRESET_BYTES = 1 << 20
_PRESET_KEYS = ("backend", "description", "options")


_WHOLE_NUMBER = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]{1,6})(?=[km]))?([km]?)")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of options: a TOML file with `backend`, `description` and a table `[options]`."""

    name: str
    backend: str
    description: str
    options: Mapping[str, Any]


def preset_names() -> list[str]:
    """Return the names of the bundled presets.

    >>> "gpt4" in preset_names()
    True
    """
    return sorted(path.stem for path in configs_directory().glob("*.toml"))


def load_preset(name: str) -> Preset:
    """Load a preset by its name or by the path of a TOML file.

    Raises:
        ConfigError: the preset does not exist or is invalid.

    >>> load_preset("gpt2").backend
    'bpe'
    """
    import tomllib

    path = Path(name) if name.endswith(".toml") or "/" in name else configs_directory() / f"{name}.toml"
    try:
        table = tomllib.loads(decode_text(read_regular(path, limit=_MAX_PRESET_BYTES), path=path))
    except FileNotFoundError:
        raise ConfigError(
            f"there is no preset {name!r}",
            hint=meant(
                name, preset_names(), otherwise="the presets are {}; a path to a .toml file works too"
            ),
        ) from None
    except RecursionError:
        raise ConfigError(f"the preset {path} cannot be read: it is nested too deeply") from None
    except (OSError, ModelFormatError) as error:
        raise unreadable("preset", path, error) from None
    except ValueError as error:  # also raised for numbers with thousands of digits
        raise ConfigError(f"the preset {path} cannot be read: {error}") from None
    _check_keys(
        table,
        _PRESET_KEYS,
        where=f"the preset {path}",
        otherwise="write the options of its backend below a line [options]",
    )
    options = table.get("options", {})
    if not isinstance(table.get("backend"), str) or not isinstance(options, dict):
        raise ConfigError(f'the preset {path} needs backend = "…" and a table [options]')
    return Preset(
        name=path.stem,
        backend=table["backend"],
        description=str(table.get("description", "")),
        options=options,
    )


class PassesOn:
    """A configuration that passes options on to a library, in a field of `key=value` strings that it validates."""

    __slots__ = ()
    passes_on: ClassVar[str]


def build_config(config_type: type[Any], options: Mapping[str, Any], *, where: str) -> Any:
    """Convert options to a backend's configuration.

    Args:
        config_type: a frozen dataclass.
        options: field → value; lists stand for tuples, as TOML has only lists.
        where: the name of the options' source in error messages.

    Raises:
        ConfigError: an option is unknown or missing, or its value has the wrong type.
    """
    values = _checked(config_type, options, where=where)
    for field in dataclasses.fields(config_type):
        is_optional = field.default is not field.default_factory  # both are MISSING where there is no default
        if field.init and not is_optional and field.name not in values:
            raise ConfigError(f"{where} needs the option {field.name}", hint=f"--option {field.name}=VALUE")
    return config_type(**values)


def check_options(config_type: type[Any], options: Mapping[str, Any], *, where: str) -> None:
    """Raise `ConfigError` for options that `build_config` does not take, by their names and types.

    >>> from tokbench.backends.bpe.config import BpeConfig
    >>> check_options(BpeConfig, {"vocab_size": 300}, where="mine.toml")
    """
    _checked(config_type, options, where=where)


def _checked(config_type: type[Any], options: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return the options with tuples in place of lists. Raises `ConfigError`."""
    _check_keys(options, [field.name for field in dataclasses.fields(config_type)], where=where)
    hints = get_type_hints(config_type)
    values = {
        name: tuple(value) if isinstance(value, list) else plain_int(value) for name, value in options.items()
    }
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise ConfigError(f"{where}: {name} is {value!r}, where {_described(hints[name])} is needed")
    return values


def parse_option(config_type: type[Any], text: str, *, where: str) -> tuple[str, Any]:
    """Parse an option written as `key=value`, using the option's type.

    Whole numbers may be written as `whole_number` reads them (32_000, 32k); a list is written with commas, as a JSON
    list of strings, or by repeating the option; "none" means None if the option allows it. An option that the backend
    does not know is passed on to its library if the configuration is a `PassesOn`.

    Args:
        config_type: a backend's configuration.
        text: the option as the user wrote it.
        where: the name of the backend in error messages.

    Returns:
        The option's name, and its value as `build_config` takes it.

    Raises:
        ConfigError: there is no "=", the option is unknown, or its value has the wrong type.

    >>> from tokbench.backends.bpe.config import BpeConfig
    >>> parse_option(BpeConfig, "vocab_size=32k", where="the backend 'bpe'")
    ('vocab_size', 32000)
    >>> parse_option(BpeConfig, 'special_tokens=["<a,b>", " c"]', where="the backend 'bpe'")
    ('special_tokens', ['<a,b>', ' c'])
    """
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals:
        raise ConfigError(f"--option {text!r} has no value", hint="write --option key=value")
    fields = [field.name for field in dataclasses.fields(config_type)]
    if name not in fields and issubclass(config_type, PassesOn):
        return config_type.passes_on, [f"{name}={value.strip()}"]
    _check_keys([name], fields, where=where)
    hint = get_type_hints(config_type)[name]
    try:
        return name, _read(value.strip(), hint)
    except ValueError:
        raise ConfigError(f"{where}: {name} is {value!r}, where {_described(hint)} is needed") from None


def parse_options(config_type: type[Any], texts: Iterable[str], *, where: str) -> dict[str, Any]:
    """Parse options written as `key=value`; repeated lists are joined, of other repeated options the last counts.

    Raises:
        ConfigError: as `parse_option`.

    >>> from tokbench.backends.bpe.config import BpeConfig
    >>> parse_options(BpeConfig, ["special_tokens=<a>", "special_tokens=<b>"], where="the backend 'bpe'")
    {'special_tokens': ['<a>', '<b>']}
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, value = parse_option(config_type, text, where=where)
        before = options.get(name)
        options[name] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    return options


def whole_number(text: str) -> int:
    """Parse a whole number: plain, with "_" between digits, or with the suffix "k" or "M".

    Raises:
        ValueError: it is not a whole number, or has more than eighteen digits.

    >>> whole_number("32k"), whole_number("1_000"), whole_number("1.5k"), whole_number("-1")
    (32000, 1000, 1500, -1)
    """
    plain = text.strip().lower().replace("_", "")
    match = _WHOLE_NUMBER.fullmatch(plain)
    if match is None:
        raise ValueError(f"{text!r:.40} is not a whole number")
    sign, whole, fraction, unit = match.groups(default="")
    scale: int = 10 ** len(fraction)
    number, rest = divmod(int(whole + fraction) * _UNITS[unit], scale)
    if rest:
        raise ValueError(f"{text!r} is not a whole number")
    return -number if sign else number


def _read(value: str, hint: Any) -> Any:
    """Parse a value according to its type. Raises `ValueError`."""
    if get_origin(hint) in (Union, types.UnionType):
        choices = get_args(hint)
        if type(None) in choices and value.lower() == "none":
            return None
        return _read(value, next(choice for choice in choices if choice is not type(None)))
    if get_origin(hint) is tuple:
        items = _json_strings(value) or ([item.strip() for item in value.split(",")] if value else [])
        return [_read(item, get_args(hint)[0]) for item in items]
    if hint is bool:
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return value.lower() == "true"
    if hint is int:
        return whole_number(value)
    return float(value) if hint is float else value


def _json_strings(value: str) -> list[str]:
    """Parse a JSON list of strings; return an empty list for every other text, such as "[UNK],[PAD]" or "[1]"."""
    if not value.startswith("["):
        return []
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return []
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []


def _check_keys(
    given: Iterable[str], known: Iterable[str], *, where: str, otherwise: str = "the options are {}"
) -> None:
    known = list(known)
    for key in given:
        if key not in known:
            raise ConfigError(f"{where} has no option {key!r}", hint=meant(key, known, otherwise=otherwise))


def _fits(value: object, hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(item, get_args(hint)[0]) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


_SEVERAL: dict[Any, str] = {int: "whole numbers", float: "numbers", str: "strings"}


def _described(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_described(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list of {_SEVERAL.get(get_args(hint)[0], 'values')}"
    return {
        int: "a whole number",
        float: "a number",
        str: "a string",
        bool: "true or false",
        type(None): "nothing",
    }.get(hint, str(hint))
