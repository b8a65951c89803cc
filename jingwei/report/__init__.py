"""Floor 5: what was seen, kept, left out and why (B6), and the ways a build fails (B2 to B8)."""
