"""Deliberate faults, latency and rate limits, and the settings that control them."""
