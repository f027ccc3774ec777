"""Rules of the service: payments, tokens, applications and redirect URLs, without HTTP."""
