"""What the tokens of a text are worth, measured: counts from one pass over it, and figures made of them."""
