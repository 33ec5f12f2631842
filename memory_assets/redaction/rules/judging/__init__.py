"""What a value or a name is judged by, whatever rule found it."""
