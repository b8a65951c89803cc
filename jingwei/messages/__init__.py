"""Floor 1: what a model is told. Records, the shape rules (M3) and the wire (M1, M2)."""
