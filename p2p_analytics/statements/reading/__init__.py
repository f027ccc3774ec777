"""Bytes of files to cells."""
