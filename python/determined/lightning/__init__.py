"""Lightning on the platform: a logger for runs anywhere. For trials on the cluster see examples/lightning_digits."""
