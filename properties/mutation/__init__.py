"""Mutation testing of jingwei with `properties/` alone: `python -m properties.mutation`."""
