"""The service's HTTP vocabulary: reading parameters and bodies, writing JSON in each dialect."""
