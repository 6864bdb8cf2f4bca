"""Built-in chat templates, exact to their makers', one module a family."""

from tokbench.chat.formats.catalogue import all_formats, named, recognized
from tokbench.chat.formats.format import Format

__all__ = ["Format", "all_formats", "named", "recognized"]
