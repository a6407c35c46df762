"""Replacements for the libraries of GPU makers, built from the C files in this folder. A file says what they report (nvml_stub.c)."""
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def build_stub(directory, source="nvml_stub.c", soname="libnvidia-ml.so.1", *flags):
    """Makes the library `soname` in the directory, which is made as well, and returns the directory."""
    directory.mkdir(exist_ok=True)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-w", f"-Wl,-soname,{soname}", *flags, "-o", directory / soname,
                    HERE / source], check=True)
    return directory


class NvidiaStub:
    """A machine with NVIDIA's GPUs. `environment` is for the agent that is to see them, and tell() changes their state."""

    def __init__(self, directory, tells="count=2"):
        self.library, self.says = build_stub(directory / "nvidia"), directory / "nvidia/says"
        self.tell(tells)
        self.environment = {"LD_LIBRARY_PATH": str(self.library), "STUB_NVML": str(self.says)}

    def tell(self, tells):
        self.says.write_text(tells)
