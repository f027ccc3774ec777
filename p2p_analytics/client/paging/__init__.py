"""Paging half of the client: pagers, calendar windows, and the loads that use them."""
