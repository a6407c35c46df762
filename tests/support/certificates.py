"""Certificates for tests, made by openssl(1): an authority, and the servers' certificates that it signs."""
import subprocess

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words, **options):
    return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, text=True, **options).stdout


class Authority:
    def __init__(self, directory, name="Test Authority"):
        self.dir = directory
        self.dir.mkdir(parents=True, exist_ok=True)
        self.cert, self.key = self.dir / "ca.crt", self.dir / "ca.key"
        openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", "-days", "2", "-keyout", self.key, "-out", self.cert,
                "-addext", "keyUsage=critical,keyCertSign")

    def sign(self, cert, key, names="DNS:localhost,IP:127.0.0.1"):
        """Makes a certificate that is valid for `names`, and its key, in the files cert and key."""
        request = openssl("req", *KEY, "-subj", "/CN=server", "-keyout", key)
        (self.dir / "extensions").write_text(f"subjectAltName={names}\nkeyUsage=critical,digitalSignature\n")
        cert.write_text(openssl("x509", "-req", "-CA", self.cert, "-CAkey", self.key, "-days", "2",
                                "-extfile", self.dir / "extensions", input=request))


def fingerprint(cert):
    """Returns the SHA-256 of the certificate, in lower case with colons."""
    return openssl("x509", "-noout", "-fingerprint", "-sha256", "-in", cert).strip().split("=")[1].lower()
