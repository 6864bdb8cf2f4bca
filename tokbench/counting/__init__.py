"""Counting the words of a corpus in parts: a plan, tasks that count its parts, and tasks that add them up.

Which words come out depends on the corpus and the backend's configuration alone; what depends on the plan, in the
folder `parts`, is gone when the counting has ended.
"""
