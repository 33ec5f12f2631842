"""Bringing a memory to a shard, and shards to this machine (docs/scale.md).

Belongs here: what of a memory is in a shard, and how it becomes one that can be searched. Does
not: where objects are kept, and how a generation takes effect (`stores/shard/`).
"""
