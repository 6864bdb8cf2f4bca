"""Chat templates in Jinja, rendered with strings that track the origin of each of their characters."""
