"""Conversations: templates that remember where each character is from, and ids in which no content becomes a role."""
