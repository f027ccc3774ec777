"""Helpers for the tests of privacy mode."""
