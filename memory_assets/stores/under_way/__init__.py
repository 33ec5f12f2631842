"""How far an ingest has come and what a watcher is doing, noted while it runs for others."""
