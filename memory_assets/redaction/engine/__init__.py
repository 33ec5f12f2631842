"""Where to look and what is there: triggers, confirmation, self-test. The entry is `Scanner`."""
