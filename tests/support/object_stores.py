"""Object stores for tests: moto for S3, gcp-storage-emulator for GCS, azurite for Azure. Each listens on a port of its own and keeps its
objects in memory."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import types

from support.ports import free_port
from support.waiting import wait_for

AZURITE = pathlib.Path(__file__).parent / "azurite/node_modules/azurite/dist/src/blob/main.js"
# The account that every azurite has.
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SECRETS = {"access_key": "an-access-key", "secret_key": "a-secret-key"}
BUCKET = "checkpoints"


def missing(kind):
    """Returns why a store of that kind cannot run here; None if it can."""
    if kind == "azure" and not (AZURITE.exists() and shutil.which("node")):
        return f"azurite is not installed: npm ci --prefix {AZURITE.parents[5]}"
    return None


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def _running(argv, port, log, env=None):
    with open(log, "w") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out, env={**os.environ, **(env or {})}, cwd=pathlib.Path(log).parent)
    try:
        wait_for(f"a server on port {port}", lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, pathlib.Path(log).read_text()
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def s3(directory, **config):
    """Runs moto with a bucket; yields its checkpoint_storage (`config`), its URL, and a client."""
    import boto3

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(argv, port, pathlib.Path(directory) / "moto.log", {"AWS_DEFAULT_REGION": "us-east-1"}):
        client = boto3.client("s3", endpoint_url=url, aws_access_key_id=SECRETS["access_key"], aws_secret_access_key=SECRETS["secret_key"],
                              region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)

        def keys(prefix=""):
            return sorted(o["Key"] for o in client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", ()))

        yield types.SimpleNamespace(url=url, client=client, keys=keys,
                                    config={"type": "s3", "bucket": BUCKET, "endpoint_url": url, **SECRETS, **config})


@contextlib.contextmanager
def gcs(directory):
    """Runs the emulator with a bucket; yields `config`, and the variables (`env`) by which clients find it."""
    port = free_port()
    argv = [sys.executable, "-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", str(port), "--in-memory",
            "--default-bucket", BUCKET]
    with _running(argv, port, pathlib.Path(directory) / "gcs.log"):
        yield types.SimpleNamespace(config={"type": "gcs", "bucket": BUCKET}, env={"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"})


@contextlib.contextmanager
def azure(directory):
    port = free_port()
    argv = ["node", str(AZURITE), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--silent",
            "--skipApiVersionCheck", "--disableTelemetry"]
    text = (f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={AZURE_KEY};"
            f"BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;")
    with _running(argv, port, pathlib.Path(directory) / "azurite.log"):
        yield types.SimpleNamespace(config={"type": "azure", "container": BUCKET, "connection_string": text}, env={})
