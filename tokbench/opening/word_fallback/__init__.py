"""Models of words in Python: the definition of what the kernel does with words, and its fallback."""
