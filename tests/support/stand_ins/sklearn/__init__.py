"""What tests need of scikit-learn, without its imports (support/light_python.py)."""
