"""Statement files: what everybody can download becomes PAYMENTS, reconciled to the cent."""
