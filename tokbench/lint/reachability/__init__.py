"""Which tokens can occur at all: for each a text that encodes to it, or the reason why none does.

The result for a token is one of three. *Reachable*: a text was found and encoded, and the token is in its ids.
*Unreachable*: it is proved that no text gives it. *Undecided*: neither. No answer is a guess.
"""
