"""Evaluate tokenizers on a corpus: one counting pass for each, then metrics, intervals and comparisons."""
