"""Chat templates in Jinja, rendered by strings that know where each of their characters is from."""
