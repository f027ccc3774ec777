"""Records to pandas frames with fixed columns and dtypes, and the viewer's perspective on them."""
