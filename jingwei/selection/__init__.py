"""Floor 4: what may be left out, and in what order. Candidates, reductions, strategies (rules R)."""
