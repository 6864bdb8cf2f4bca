"""Results that a notebook shows as tables and coloured tokens."""

from __future__ import annotations


class ShownInNotebooks:
    """A result that `tokbench.as_html` can render; notebooks call `_repr_html_`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import tokbench  # its lazy public names: render/ stands above core/

        return tokbench.as_html(self)
