"""Charts to SVG and PNG, without a browser and without the network."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tokbench.errors import BackendUnavailableError, ConfigError

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".svg", ".png")
_PIXELS_PER_UNIT = 2


def require_vl_convert(purpose: str) -> None:
    """Raise `BackendUnavailableError` where charts cannot be drawn."""
    if find_spec("vl_convert") is None:
        raise BackendUnavailableError(
            f"{purpose} needs the package vl-convert-python", hint="pip install 'tokbench[report]'"
        )


def check_plot_file(path: Path) -> None:
    """Raise `ConfigError` for a file that no chart is written to, `BackendUnavailableError` where none is drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"{path}: a chart is written as SVG or PNG",
            hint=f"name a file that ends in {' or '.join(SUFFIXES)}",
        )
    require_vl_convert("a chart")


def drawn(spec: dict[str, Any], path: Path) -> bytes:
    """A chart in the format that a file's name ends in; see `check_plot_file`."""
    check_plot_file(path)
    return png(spec) if path.suffix.lower() == ".png" else svg(spec).encode()


def svg(spec: dict[str, Any]) -> str:
    """A chart as an SVG element with its description as its name; nothing in it is loaded from anywhere.

    Raises:
        BackendUnavailableError: vl-convert-python is not installed.
    """
    require_vl_convert("a chart")
    import vl_convert

    drawing = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    name = escape(spec.get("description", ""))
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def png(spec: dict[str, Any]) -> bytes:
    """A chart as a PNG of two pixels a unit. Raises as `svg`."""
    require_vl_convert("a chart")
    import vl_convert

    return vl_convert.vegalite_to_png(spec, scale=_PIXELS_PER_UNIT, allowed_base_urls=[])
