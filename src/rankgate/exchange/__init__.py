"""Exchange with the retrieval world: TREC, BEIR and MTEB; one format a module."""
