"""Secrets that sentences and commands mention, before or after the word that says what they are."""
