"""Programs that run inside a task, each as ``python3 -m determined.exec.NAME``."""
