"""What agents wrote themselves: the journal, and its rows in the lake's tables.

Belongs here: the journal's file and its copy, the names of its partitions, rows of tables. Does
not: what may be written (`agent_memory/`), how tables are made of it (`pipeline/agent_memory/`).
"""
