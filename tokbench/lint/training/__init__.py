"""The training of a BPE, audited: its merges are replayed on the text that they were learned from."""
