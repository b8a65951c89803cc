"""Outside formats: one file each, pure functions; whoever calls them reads and writes the files."""
