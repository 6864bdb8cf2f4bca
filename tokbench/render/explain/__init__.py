"""Output of `tokbench explain`: how a text becomes tokens, step by step, printed at once or as a presentation."""
