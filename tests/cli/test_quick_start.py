"""What a command loads: libcurl and OpenSSL bring libraries whose loading takes longer than a small command does. They are loaded when a
request needs them, and not before."""
import re

import pytest

HEAVY = ("libcurl", "libssl", "libcrypto", "libevent_openssl", "libarchive")


def loaded(det, *words, **environment):
    """The shared libraries that a successful command has loaded, as the dynamic linker tells them."""
    done = det.run(*words, LD_DEBUG="files", **environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return set(re.findall(r"file=(lib[^/\s]+?)\.so", done.stderr))


@pytest.mark.parametrize("words", ["--help", "experiment --help", "--version", "user whoami", "experiment list", "agent list --json",
                                   "experiment logs 1"])
def test_a_small_command_loads_neither_libcurl_nor_openssl(det, words):
    det("user", "whoami")  # logs in
    libraries = loaded(det, *words.split())
    assert libraries and not [name for name in libraries if name.startswith(HEAVY)], sorted(libraries)


def test_a_proxy_is_libcurls(det, master):
    det("user", "whoami")
    through = {"http_proxy": master.url, "DET_MASTER": "http://master.test:8080"}
    assert "libcurl" in loaded(det, "version", **through)
    assert "libcurl" not in loaded(det, "user", "whoami", http_proxy=master.url, no_proxy="localhost,127.0.0.1")
