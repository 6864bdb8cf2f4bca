"""Models of words in Python: the definition of what the kernel does with them, which runs where that is not there."""
