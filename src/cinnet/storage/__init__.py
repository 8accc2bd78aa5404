"""What is on disk: atomic files, run folders, checkpoints."""
