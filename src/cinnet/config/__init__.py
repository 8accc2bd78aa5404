"""Every choice of a run: settings, presets, and how both are written down. Free of JAX where help needs it."""
