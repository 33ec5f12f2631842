"""Sessions that go: forgotten for good, or cut down to their prompts by retention.

Belongs here: selecting them, and leaving no byte of them in any store. Does not: keeping
their records from coming back (`ownership/`).
"""
