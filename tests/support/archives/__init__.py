"""Payments, histories and archives for tests."""
