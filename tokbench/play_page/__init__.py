"""Tokenizers on a standalone page: their data, encoders in JavaScript, and the check that both give the same ids."""
