"""Tokenizers that run on a library of others and obey our rules: bytes, spans, kinds, special tokens."""
