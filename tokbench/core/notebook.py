"""Results that a notebook shows as tables and coloured tokens."""

from __future__ import annotations


class ShownInNotebooks:
    """A result that `tokbench.as_html` can show; a notebook asks for it by `_repr_html_`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import tokbench  # its public names: what writes HTML stands above the results

        return tokbench.as_html(self)
