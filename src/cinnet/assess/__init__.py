"""What a finished run is worth: errors, estimates of them, diagnostics, a verdict."""
