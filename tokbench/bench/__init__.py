"""How fast tokenizers are, beside the same tokenizers in the libraries of others."""
