"""Conformance: runs language-neutral cases against any engine, and plays an engine for any host.

It knows the protocol from `protocol-spec/` only. It imports nothing of our engine, so what our
engine gets wrong it cannot get wrong the same way.
"""
