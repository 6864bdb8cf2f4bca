"""docs/chat-formats.md, generated from the catalogue of built-in chat templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.metrics_page import table
from tokbench.chat.formats import all_formats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.chat.formats import Format

HEAD = """\
# Built-in chat templates

<!-- Made of tokbench/chat/formats/ by `python tests/golden/test_readme.py`: change that, not this page. -->

Each template renders a conversation like its maker's code, or refuses it: it refuses what that code refuses, and
content that the format cannot express, such as tools in ChatML. Parts that the maker's code leaves out are left out:
thinking (in Qwen 3 and harmony only that of earlier turns; Mistral refuses it), tool calls before the last question
(Mistral v2), and content beside a call (Llama 3.1).

"""
TOKENS = """
## Tokens

A vocabulary needs the tokens of the first column for every conversation, and those of the second for conversations with
tools, images or Python. The end of a turn is the last token of the assistant's turn; it belongs to a model's EOS ids.

"""
VARIABLES = """
## Variables

Variables that a conversation can set in addition to its messages and tools.

"""
NOTES = """
## What differs between makers

- **System messages** become part of a user message in Llama 2 and in Mistral up to v3 (the first one in Llama 2 and
  Mistral v1, the last one in v2 and v3), in Gemma and in nanochat (the first one). In harmony they become the developer
  message.
- **White space** at the ends of texts is removed by Llama 2, 3 and Gemma; spaces at the end of answers by Mistral since
  v2. All others keep it.
- **SentencePiece's space** before each text is written by `mistral-v1`, `-v2`, `-v3` and `-v7`, unless the tokenizer
  adds it itself; the templates for Tekken have none.
- **Arguments of calls** can be an object or its JSON text. For a text, Llama and Qwen 2.5 write a quoted string, like
  the libraries; Qwen 3 and harmony write it unchanged; Mistral parses it and writes its value.
- **Ids of calls** are nine letters and digits in Mistral since v3; the others do not write them.
- **Parts**: Gemma, nanochat's assistant, Mistral and harmony accept a list of parts as content; the others refuse it.
- **Markers that are ordinary text**, such as `[INST]` in Llama 2 and Mistral v1, cannot be distinguished from the same
  text in content: with these templates, no rendering is safe from users who type them.
"""


def chat_formats_page() -> str:
    """Return the page: every template with its source, its tokens and its variables."""
    formats = all_formats()
    sources = (
        (
            f"`{format.name}`",
            format.description.replace("|", "\\|"),
            "yes" if format.has_tools else "–",
            format.source,
        )
        for format in formats
    )
    tokens = (_tokens(format) for format in formats)
    return "".join(
        (
            HEAD,
            table(("template", "format", "tools", "source"), sources),
            TOKENS,
            table(("template", "always", "in some conversations", "end of a turn"), tokens),
            VARIABLES,
            table(("template", "variable", "what it does"), _variables(formats)),
            NOTES,
        )
    )


def _tokens(format: Format) -> tuple[str, ...]:
    return (
        f"`{format.name}`",
        _listed(format.control_tokens),
        _listed(format.optional_tokens),
        _listed(format.turn_end),
    )


def _listed(tokens: Iterable[str]) -> str:
    return " ".join(f"`{token}`".replace("|", "\\|") for token in tokens) or "–"


def _variables(formats: Iterable[Format]) -> Iterable[tuple[str, ...]]:
    for format in formats:
        for name, meaning in format.variables.items():
            yield f"`{format.name}`", f"`{name}`", meaning
