"""Floor above the projection: what a model is shown of a tool's result, and the same each time (T)."""
