"""What a secret looks like, as data and as judgements on one value."""
