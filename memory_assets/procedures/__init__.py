"""Procedures: what the sessions of a project show again and again about the work in it.

Belongs here: what one session shows (`uses.py`), and what several of them show together
(`project.py`). Does not: stores, and what becomes a memory.
"""
