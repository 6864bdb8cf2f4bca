"""Built-in chat templates that reproduce those of their makers exactly, one module per family."""

from tokbench.chat.formats.catalogue import all_formats, named, near_template, recognized
from tokbench.chat.formats.format import Format

__all__ = ["Format", "all_formats", "named", "near_template", "recognized"]
