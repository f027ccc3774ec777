"""Endpoints that answer JSON: payments, friends, the token exchange, OpenAPI and control."""
