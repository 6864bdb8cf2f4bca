"""Explanations of tokenizations: the steps of each algorithm, with the cause of every token boundary.

The modules implement the textbook algorithms on plain data: a tokenizer passes its merges, pieces or scores, and gets
a trace of the steps. Whenever a text is explained, the resulting ids are checked against those of `encode`.
"""
