"""tokbin: our own file format of tokenizers for inference, opened without parsing; `layout` documents every byte."""
