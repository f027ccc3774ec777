"""Invented statement files, and their rows."""
