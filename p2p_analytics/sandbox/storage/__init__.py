"""Storage: one SQLite database for the town, its payments and the OAuth tables."""
