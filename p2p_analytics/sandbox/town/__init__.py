"""The synthetic town: its people, their payment history, and payments added by a test."""
