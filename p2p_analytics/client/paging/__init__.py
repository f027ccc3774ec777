"""Paging half of the client: scheduler, windows, pagination, cached pages and next links."""
