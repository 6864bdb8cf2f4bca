"""Helpers shared by several tests: sample texts, kernels by name, counting and learning in one call."""
