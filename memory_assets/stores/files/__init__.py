"""Files as all stores use them: SQLite databases, and files that several processes share."""
