"""Engines: local processes, and libraries for clusters."""
