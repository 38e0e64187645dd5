"""What is written for people: tables, plots, and files that are whole or not there."""
