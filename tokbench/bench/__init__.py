"""Benchmark tokenizers against other libraries that run the same vocabularies."""
