"""docs/chat-formats.md, made of the catalogue of built-in chat templates."""

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

Each writes a conversation as its maker's code does, or refuses it: always where that refuses, and where something has
no place in it, as tools in ChatML. What the makers leave out is left out: thinking (in Qwen 3 and harmony that of
earlier turns alone; Mistral refuses it), calls of tools before the last question (Mistral v2), content beside a call
(Llama 3.1).

"""
TOKENS = """
## Tokens

A vocabulary needs those of the first column for every conversation, and those of the second where there are tools,
images or Python. The end of a turn is what the assistant says last; it belongs to the EOS ids of a model.

"""
VARIABLES = """
## Variables

What a conversation may set beside its messages and tools.

"""
NOTES = """
## What differs between makers

- **System messages** become part of a user message in Llama 2 and in Mistral up to v3 (of the first one in Llama 2 and
  Mistral v1, of the last one in v2 and v3), in Gemma and in nanochat (of the first one). In harmony they are the
  developer's.
- **White space** at the ends of texts is dropped by Llama 2, 3 and Gemma; spaces at the end of answers by Mistral from
  v2 on. All others keep it.
- **SentencePiece's space** before each text is written by `mistral-v1`, `-v2`, `-v3` and `-v7`, unless the tokenizer
  adds it by itself; those for Tekken have none.
- **Arguments of calls** may be an object or its JSON text. Llama and Qwen 2.5 quote a text, as the libraries do; Qwen 3
  and harmony write it as it is; Mistral reads it and writes its value.
- **Ids of calls** are nine letters and digits in Mistral from v3 on; the others do not write them.
- **Parts**: Gemma, nanochat's assistant, Mistral and harmony take a list of parts as content; the others refuse it.
- **Marks that are ordinary text**, as `[INST]` in Llama 2 and Mistral v1, cannot be told from the same text in content:
  there no rendering is safe from who types them.
"""


def chat_formats_page() -> str:
    """The page: every template with its source, its tokens and its variables."""
    formats = all_formats()
    sources = (
        (
            f"`{each.name}`",
            each.description.replace("|", "\\|"),
            "yes" if each.has_tools else "–",
            each.source,
        )
        for each in formats
    )
    tokens = (_tokens(each) for each in formats)
    return "".join(
        (
            HEAD,
            table(("template", "what it writes", "tools", "source"), sources),
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
