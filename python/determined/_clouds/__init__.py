"""Programs that launch, list and end machines of a cloud for a pool of the master.

The master starts ``python3 -m determined._clouds.aws`` or ``….gcp`` and asks by lines of JSON (docs/clouds.md).
"""
