"""The rules: formats of secrets as data, and functions that judge a value."""
