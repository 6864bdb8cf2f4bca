"""Counting the words of a corpus in parts: a plan, tasks that count its parts, and tasks that add them up.

The resulting words depend only on the corpus and the backend's configuration; everything that depends on the plan is in
the folder `parts`, and is deleted when the counting has finished.
"""
