"""Parts that every stage uses, whatever its table.

Belongs here: the components (settings, stores, engines), the report of a stage, the loop over
what is due, quarantine, the worker pool, the rows that a check must still read, redacting composed
text.
Does not: anything about one particular table.
"""
