"""Work in parts, on an engine: here, on a cluster, in any order, with the same bytes as its result.

A *task* is a function of a module, named "package.module:function". It reads one slice, publishes one file whole or
not at all, and returns a few figures; run twice, it writes the same file. So an engine only schedules and retries.
"""
