"""tokbench: a workbench for tokenizers.

    import tokbench

    tok = tokbench.train(["some text", "more text"], vocab_size=300, pattern="gpt4")
    ids = tok.encode("some text")
    tok.save("tokenizers/mine")
    tok = tokbench.load("tokenizers/mine")

The names below are the public ones. Each is imported when it is first used, so that
`import tokbench` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "ChatTemplate": "tokbench.chat.template",
    "Corpus": "tokbench.corpus",
    "Document": "tokbench.corpus",
    "Encoded": "tokbench.core.tokens",
    "Segmentation": "tokbench.core.tokens",
    "Shards": "tokbench.shards.reading",
    "Span": "tokbench.core.tokens",
    "SpecialPolicy": "tokbench.core.tokens",
    "StreamingDecoder": "tokbench.core.streaming",
    "Token": "tokbench.core.tokens",
    "TokenKind": "tokbench.core.tokens",
    "TokbenchError": "tokbench.errors",
    "Tokenizer": "tokbench.core.interfaces",
    "TokenizerInfo": "tokbench.core.interfaces",
    "as_html": "tokbench.render.notebook",
    "bundled_corpus": "tokbench.corpus",
    "compare": "tokbench.workbench.compare",
    "load": "tokbench.workbench.open",
    "open_corpus": "tokbench.corpus",
    "open_shards": "tokbench.shards.reading",
    "report": "tokbench.workbench.report",
    "sweep": "tokbench.workbench.sweep",
    "train": "tokbench.workbench.train",
    "verify_shards": "tokbench.shards.verification",
    "visualise": "tokbench.workbench.viz",
    "write_shards": "tokbench.shards.writing",
}

if TYPE_CHECKING:
    from tokbench.chat.template import ChatTemplate
    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.streaming import StreamingDecoder
    from tokbench.core.tokens import Encoded, Segmentation, Span, SpecialPolicy, Token, TokenKind
    from tokbench.corpus import Corpus, Document, bundled_corpus, open_corpus
    from tokbench.errors import TokbenchError
    from tokbench.render.notebook import as_html
    from tokbench.shards.reading import Shards, open_shards
    from tokbench.shards.verification import verify_shards
    from tokbench.shards.writing import write_shards
    from tokbench.workbench.compare import compare
    from tokbench.workbench.open import load
    from tokbench.workbench.report import report
    from tokbench.workbench.sweep import sweep
    from tokbench.workbench.train import train
    from tokbench.workbench.viz import visualise

__all__ = [
    "ChatTemplate",
    "Corpus",
    "Document",
    "Encoded",
    "Segmentation",
    "Shards",
    "Span",
    "SpecialPolicy",
    "StreamingDecoder",
    "TokbenchError",
    "Token",
    "TokenKind",
    "Tokenizer",
    "TokenizerInfo",
    "__version__",
    "as_html",
    "bundled_corpus",
    "compare",
    "load",
    "open_corpus",
    "open_shards",
    "report",
    "sweep",
    "train",
    "verify_shards",
    "visualise",
    "write_shards",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tokbench' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
