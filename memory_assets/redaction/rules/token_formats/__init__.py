"""Formats of vendors' tokens, by theme. Data only: rows of names and templates.

Belongs here: what vendors' public documentation says their keys look like. Does not
belong here: code that looks for them, words of ordinary names (`judging/names.py`).
"""
