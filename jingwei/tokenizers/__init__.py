"""Counters that need a package, one file a package, named after it (rules C1, C5). Each is an extra."""
