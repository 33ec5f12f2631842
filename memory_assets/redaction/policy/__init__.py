"""Files: which stretches of a record are their contents, and whether these may stay."""
