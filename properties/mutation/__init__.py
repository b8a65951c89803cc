"""Mutation testing of jingwei by `properties/` alone: `python -m properties.mutation` (see docs/mutation.md)."""
