"""A common interface to files in local folders, object stores and cluster file systems."""
