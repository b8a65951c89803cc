"""Floor 2: what happened. Event records (W2), the turn table (P4), the log check (L1) and the wire (W)."""
