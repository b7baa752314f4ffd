"""Proposals for queries, from what a repository says of itself; each origin is a file here.

Nothing is taken for granted: a proposal becomes a query by a person's yes.
"""
