"""One request from all that a host knows: gathered, weighed, chosen and built (rule S4a)."""
