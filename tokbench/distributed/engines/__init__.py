"""Engines: processes of this machine, and libraries that reach others."""
