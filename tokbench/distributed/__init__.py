"""Work in parts on an engine: on this machine or a cluster, in any order, with byte-identical results.

A *task* is a function in a module, named "package.module:function". It reads one slice, publishes one file atomically,
and returns a few figures; if it runs twice, it writes the same file. So an engine only schedules and retries.
"""
