"""Tests an engine: plays the cases to it."""
