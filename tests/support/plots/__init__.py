"""Tables for tests of plots."""
