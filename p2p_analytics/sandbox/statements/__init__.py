"""Statement files: the history of an account with its running balance, and the forms in which it can be downloaded."""
