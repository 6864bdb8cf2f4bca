"""Why a text is split where it is: the steps of each algorithm, with the cause of every boundary.

The algorithms here are the textbook's, on plain data: a tokenizer hands over its merges, pieces or scores, and
gets back what happened. What they give is held to the ids of `encode` wherever a text is explained.
"""
