"""Which session a record belongs to, and which records must not come back.

Belongs here: records that forks and resumed sessions share, the files of a session, records
of forgotten sessions, records that retention removed. Does not: reading files (`scan/`) or
redacting records (`redact/`).
"""
