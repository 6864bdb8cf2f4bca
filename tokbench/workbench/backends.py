"""Lists of the backends with their options, the presets and the sets of special tokens."""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.config import load_preset, preset_names
from tokbench.core.interfaces import BackendInfo, BackendOption
from tokbench.core.special_presets import SPECIAL_PRESETS
from tokbench.errors import BackendUnavailableError
from tokbench.registry import backend_names, get_backend

if TYPE_CHECKING:
    from tokbench.config import Preset
    from tokbench.core.special_presets import SpecialPreset


@dataclass(frozen=True, slots=True)
class BackendsResult:
    """All backends, presets and sets of special tokens."""

    backends: tuple[BackendInfo, ...]
    presets: tuple[Preset, ...]
    special_presets: tuple[SpecialPreset, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.backends/1",
            "backends": list(map(asdict, self.backends)),
            "presets": list(map(asdict, self.presets)),
            "special_presets": [
                {
                    "name": preset.name,
                    "description": preset.description,
                    "source": preset.source,
                    "special_tokens": list(preset.tokens),
                    "roles": dict(preset.roles),
                }
                for preset in self.special_presets
            ],
        }


def list_backends() -> BackendsResult:
    """List every backend with its options or why it cannot be loaded, every preset and every set of special tokens."""
    return BackendsResult(
        backends=tuple(map(_backend_info, backend_names())),
        presets=tuple(load_preset(name) for name in preset_names()),
        special_presets=tuple(SPECIAL_PRESETS.values()),
    )


def _backend_info(name: str) -> BackendInfo:
    try:
        backend = get_backend(name)
    except BackendUnavailableError as error:
        return BackendInfo(name, error.message, "unavailable")
    options = (
        BackendOption(name=field.name, default=_default_of(field), help=field.metadata.get("help", ""))
        for field in dataclasses.fields(backend.config_type)
    )
    return BackendInfo(backend.name, backend.summary, backend.kernel, tuple(options))


def _default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of an option, as JSON writes it; None if it must be given."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    if default is MISSING:
        return None
    return list(default) if isinstance(default, tuple) else default
