"""ROWS of files to payments: pure functions, which see all rows at once."""
