"""Scans of the archive's files: what to read, in which engine, and how statements are merged on the way."""
