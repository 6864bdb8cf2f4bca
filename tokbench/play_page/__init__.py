"""Tokenizers on a page of their own: their data, encoders in JavaScript, and the proof that both give the same ids."""
