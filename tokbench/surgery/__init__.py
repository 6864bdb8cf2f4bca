"""Change vocabularies without breaking a model: remove and add tokens, and map old ids to new ones."""
