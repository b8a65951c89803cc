"""Floor 3: for whom a request is made, what it may cost, and what it costs (B1, C)."""
