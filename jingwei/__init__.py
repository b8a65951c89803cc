"""jingwei."""
