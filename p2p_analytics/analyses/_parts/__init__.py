"""Parts that several analyses use: their arguments, local time, percentiles."""
