"""Fixtures and helpers that several test folders share.

pytest's `pythonpath` setting puts `tests/` on the import path, and `tests/conftest.py` loads the modules with fixtures
as plugins. A test module imports the rest by name: `from support.canary import CANARY`.
"""
