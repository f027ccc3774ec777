"""Account holders: their names, and the other side of each of their transactions."""

from p2p_analytics.statements.holders._sides import blank_sides, find_owners, name_holders, settle_sides

__all__ = ["blank_sides", "find_owners", "name_holders", "settle_sides"]
