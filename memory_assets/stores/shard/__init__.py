"""Shards: the redacted products of one memory in an object store, to be searched elsewhere.

`objects.py` is where bytes are kept (a directory, or S3), `shard.py` what they mean.
"""
