"""Frames for the tests of analyses."""
