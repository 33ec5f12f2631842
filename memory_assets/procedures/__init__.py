"""Procedures: the commands that sessions of a project show to work in it, and those that do not.

Belongs here: what one session shows (`uses.py`), and what several of them show together
(`procedures.py`, `traps.py`). Does not: stores, and what becomes a memory.
"""
