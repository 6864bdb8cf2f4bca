"""Evaluating tokenizers on text: one pass over a corpus for each, and what the passes say together."""
