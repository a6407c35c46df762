"""Launchers: programs that start a training script in as many processes as the task has slots."""
