"""Series among payments: chains of payments of one person that are one period apart."""
