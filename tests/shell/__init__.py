"""The proof of the shell gate: an oracle that asks real bash, cases, fuzzing and mutation.

Everything here judges the gate from outside. The oracle reads grants and texts with its own few
lines and never asks the analysis it is there to check.
"""
