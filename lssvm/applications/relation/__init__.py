"""Relation extraction from bags of mentions."""
