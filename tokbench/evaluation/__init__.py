"""Evaluate tokenizers on a corpus: one counting pass per tokenizer, then metrics, intervals and comparisons."""
