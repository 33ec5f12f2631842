"""`memory ingest --watch`: notice changed transcripts, and run their projects.

Belongs here: events of the file system, their debounce, the loop that turns them into runs
of projects. Does not: Dagster (runs are passed in as a function), the work of a run
(`pipeline/`), the command line (`cli/watch_command.py`).
"""

from memory_assets.watching.directories import Directories
from memory_assets.watching.pending import Changes, Pace, Pending
from memory_assets.watching.watcher import Outcome, Watcher

__all__ = ["Changes", "Directories", "Outcome", "Pace", "Pending", "Watcher"]
