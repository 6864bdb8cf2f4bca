"""tokbin: our own file of a tokenizer for inference, opened without parsing; see `layout` for every byte."""

from tokbench.formats.tokbin.layout import Kind, Model, Texts
from tokbench.formats.tokbin.reading import TokbinFile, is_tokbin
from tokbench.formats.tokbin.writing import TokbinContents, dump_tokbin, merge_scores

__all__ = [
    "Kind",
    "Model",
    "Texts",
    "TokbinContents",
    "TokbinFile",
    "dump_tokbin",
    "is_tokbin",
    "merge_scores",
]
