"""Floor 2: texts made short without a model, each fact with its place in the original (T2)."""
