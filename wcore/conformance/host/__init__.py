"""Tests a host: plays an engine to it, in order and out of order."""
