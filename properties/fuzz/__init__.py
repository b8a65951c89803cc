"""Coverage-guided fuzzing of the doors that take bytes from outside (docs/fuzzing.md).

`targets` says what must hold of any bytes, `mutation` changes inputs along their structure, `corpus/` has
the first inputs by target. Two engines drive them: `atheris` where it is installed, else Hypothesis' own
fuzzing entry under a small guide. `python -m properties.fuzz` runs either.
"""
