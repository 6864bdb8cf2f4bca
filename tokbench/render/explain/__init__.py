"""`tokbench explain`: how a text becomes tokens, step by step, to be read or projected."""
