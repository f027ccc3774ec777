"""Endpoints that answer HTML: sign-in, consent, account and developer settings."""
