"""Lists of the backends with their options, the presets and the sets of special tokens."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.config import load_preset, preset_names
from tokbench.core.interfaces import BackendInfo, BackendOption
from tokbench.core.special_presets import SPECIAL_PRESETS
from tokbench.registry import backend_names, get_backend

if TYPE_CHECKING:
    from tokbench.config import Preset
    from tokbench.core.interfaces import Backend
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
            "backends": [
                {
                    "name": backend.name,
                    "summary": backend.summary,
                    "kernel": backend.kernel,
                    "options": [
                        {"name": option.name, "default": option.default, "help": option.help}
                        for option in backend.options
                    ],
                }
                for backend in self.backends
            ],
            "presets": [
                {
                    "name": preset.name,
                    "backend": preset.backend,
                    "description": preset.description,
                    "options": dict(preset.options),
                }
                for preset in self.presets
            ],
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
    """List every backend with its options, every preset and every set of special tokens."""
    return BackendsResult(
        backends=tuple(_backend_info(get_backend(name)) for name in backend_names()),
        presets=tuple(load_preset(name) for name in preset_names()),
        special_presets=tuple(SPECIAL_PRESETS.values()),
    )


def _backend_info(backend: Backend) -> BackendInfo:
    options = (
        BackendOption(
            name=field.name,
            default=list(field.default) if isinstance(field.default, tuple) else field.default,
            help=field.metadata.get("help", ""),
        )
        for field in dataclasses.fields(backend.config_type)
    )
    return BackendInfo(backend.name, backend.summary, backend.kernel, tuple(options))
