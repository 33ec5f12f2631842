"""What every stage uses, whatever its table.

Belongs here: the components (settings, stores, engines), the report of a stage, quarantine,
how a table grew, which rows a check has still to read, composed text that is redacted again.
Does not: anything about one particular table.
"""
