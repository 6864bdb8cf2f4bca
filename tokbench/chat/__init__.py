"""Conversations: templates that track where each character is from, and ids in which content never becomes control."""
