"""The assets redacted_records, redaction_audit and known_secrets.

Belongs here: redacting a session, reusing the rows of unchanged records, and looking for secrets
found later in sessions redacted before. Does not: what counts as a secret (`redaction/`).
"""
