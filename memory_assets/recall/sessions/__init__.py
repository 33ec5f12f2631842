"""Questions about sessions: what happened in them, in which order, how to go on."""
