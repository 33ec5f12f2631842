"""What a process says of its work while it lasts, for others to show: an ingest, a watcher."""
