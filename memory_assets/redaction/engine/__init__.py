"""The scanner: triggers find candidate positions, rules confirm them, and a self-test proves it.
The entry is `Scanner`."""
