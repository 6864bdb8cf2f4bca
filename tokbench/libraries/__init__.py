"""Tokenizers that run on other libraries, with tokbench's bytes, spans, kinds and special token policies."""
