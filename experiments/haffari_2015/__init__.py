"""Relation extraction (Haffari, Nagesh & Ramakrishnan, NAACL 2015)."""
