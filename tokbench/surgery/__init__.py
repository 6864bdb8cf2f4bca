"""Vocabularies that change without breaking a model: what goes, what takes its place, and the maps between the ids."""
