"""Contracts over the real functions of jingwei that hold for all values within bounds (docs/proofs.md).

A contract is a plain function: its leading assertions say for which arguments it speaks, the later ones what
must hold. CrossHair executes it with symbolic arguments and looks at every path; the same function runs on
ordinary values, which is how `test_proofs.py` tries each against the bug that is planted for it.

CrossHair takes only functions that begin with an assertion; a contract that speaks of all values begins
with one that always holds.
"""
