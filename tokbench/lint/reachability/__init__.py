"""Reachability of tokens: for each token, a text that encodes to it, or the reason why no text does.

The result for a token is one of three. *Reachable*: a text was found and encoded, and its ids contain the token.
*Unreachable*: there is a proof that no text encodes to it. *Undecided*: neither. No answer is a guess.
"""
