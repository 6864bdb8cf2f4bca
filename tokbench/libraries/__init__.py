"""Tokenizers that run on other libraries by our contracts: bytes, spans, kinds, special tokens."""
