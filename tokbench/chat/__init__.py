"""Chat conversations: templates that track the origin of each character, and encoding that keeps content inert."""
