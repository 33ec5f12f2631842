"""Secrets in web addresses: every part is judged by what it is."""
