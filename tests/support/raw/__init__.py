"""The sandbox's raw JSON, read and counted without frames and without the toolkit."""
