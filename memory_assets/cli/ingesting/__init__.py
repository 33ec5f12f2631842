"""The commands that bring memory up to date, once or as it changes."""
