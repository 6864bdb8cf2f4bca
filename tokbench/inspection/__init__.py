"""The contents of an opened tokenizer: its tokens, the merges between them, and the differences of two tokenizers."""
