"""What is printed: lines, colours, progress bars, hits, the pager."""
