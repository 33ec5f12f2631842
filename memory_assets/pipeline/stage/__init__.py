"""Parts that every stage uses, whatever its table.

Belongs here: the components (settings, stores, engines), the report of a stage, the loop over
what is due, quarantine, the worker pool, redacting composed text.
Does not: anything about one particular table.
"""
