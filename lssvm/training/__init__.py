"""Training: setting up a run, CCCP, checkpoints, held-out scores, cross-validation."""
