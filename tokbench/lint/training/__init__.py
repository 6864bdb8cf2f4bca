"""Audit of the training of a BPE: its merges are replayed on the training text."""
