"""Statement formats: their contract, a declaration of each, and their registry."""
