"""One label for each row of features: multiclass classification, and classes in a taxonomy."""
