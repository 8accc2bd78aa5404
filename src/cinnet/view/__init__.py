"""What people look at: figures, animations, reports, progress."""
