"""Metrics of tokenizers: counts from one pass over a text, and the figures computed from them."""
