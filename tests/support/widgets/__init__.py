"""Helpers for the tests of the widgets."""
