"""Measurements that anyone can run: `python benchmarks/NAME.py`. Never part of the tests."""
