"""Wheels that tests write, so that packages can be installed without a network."""

import base64
import hashlib
import os
import zipfile


def wheel(directory, name, version, files):
    """Writes a wheel, and returns the hash that a lock file names."""
    info = f"{name}-{version}.dist-info"
    files = {**files, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
                     for path, text in files.items())
    path = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as z:
        for entry, text in {**files, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            z.writestr(entry, text)
    os.chmod(path, 0o644)
    return hashlib.sha256(path.read_bytes()).hexdigest()
