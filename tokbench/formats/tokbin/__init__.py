"""tokbin: our own file format of tokenizers for inference, opened without parsing; `layout` documents every byte."""

from tokbench.formats.tokbin.layout import Kind, Model, Texts
from tokbench.formats.tokbin.reading import TokbinFile, is_tokbin

__all__ = [
    "Kind",
    "Model",
    "Texts",
    "TokbinFile",
    "is_tokbin",
]
