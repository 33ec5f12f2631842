"""Secrets recognised by their surroundings: rows as data, and what a row is."""
