"""The commands that write into the settings of other programs: hooks, tasks, servers."""
