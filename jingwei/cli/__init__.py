"""Floor 9: the command line (extra `cli`). The one place that reads files and speaks to people."""
