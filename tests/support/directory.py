"""A directory (LDAP) for tests: OpenLDAP's slapd in a temporary directory, with TLS; and one that answers as a test tells it.

    with Directory(tmp_path) as d:     people and groups are those of PEOPLE and GROUPS
        d.url, d.authority.cert        ldaps://127.0.0.1:PORT (libldap puts the machine's own name in place of localhost), and what its certificate is signed by
        d.stop(), d.start()
        d.log()                        what was asked, one line for each operation
    d.binds()                      how many names and passwords it was given
"""
import contextlib
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading

from support.certificates import Authority
from support.ports import free_port
from support.waiting import wait_for

SLAPD = shutil.which("slapd", path=os.environ.get("PATH", "") + ":/usr/sbin") or ""
SUFFIX = "dc=example,dc=com"
TEMPLATE = f"uid={{}},ou=people,{SUFFIX}"
SERVICE, SERVICE_PASSWORD = f"cn=service,{SUFFIX}", "service-pw-3141"
PASSWORD = "correct horse, (battery) *staple\\ 0"
CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload ppolicy
pidfile {dir}/slapd.pid
loglevel stats
{more}
TLSCertificateFile {dir}/server.crt
TLSCertificateKeyFile {dir}/server.key
database mdb
maxsize 16777216
suffix "{suffix}"
rootdn "cn=root,{suffix}"
directory {dir}/data
overlay memberof
overlay ppolicy
ppolicy_default "cn=policy,{suffix}"
ppolicy_use_lockout
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="{suffix}" by dn.exact="{service}" read by users read by * none
"""
# what the directory says of accounts of machines: extensibleObject lets an entry have any attribute
def account(**attributes):
    return {"objectClass": ["inetOrgPerson", "extensibleObject"], **attributes}


# name → what its entry has beside name and password
PEOPLE = {
    "ada": {"cn": "Ada Lovelace", "mail": "ada.lovelace@example.com"},
    "grace": {"cn": "Grace Hopper", "mail": "grace.hopper@example.com"},
    "alan": {"cn": "Alan Turing", "mail": "shared@example.com"},
    "barbara": {"cn": "Barbara Liskov", "mail": "shared@example.com"},
    "a,b+c": {"cn": "Odd \\(name\\)"},
    "admin": {"cn": "Somebody else"},
    "locked": {"cn": "Locked", "pwdAccountLockedTime": "000001010000Z"},
    "expired": {"cn": "Expired", "pwdChangedTime": "20200101000000Z", "pwdPolicySubentry": f"cn=aging,{SUFFIX}"},
    "fresh": {"cn": "Fresh", "pwdReset": "TRUE"},
    "nobody": {"cn": "No password", "userPassword": None},
    "unix": {"cn": "With ids", **account(uidNumber="2001", gidNumber="2002", gecos="sailor", departmentNumber="crew")},
    "root": {"cn": "Root", **account(uidNumber="0", gidNumber="2002")},
    "rootgroup": {"cn": "Root's group", **account(uidNumber="2003", gidNumber="0")},
    "halfway": {"cn": "No gid", **account(uidNumber="2004")},
    "twice": {"cn": "Two gids", **account(employeeNumber="2005", departmentNumber=["1", "2"], carLicense=["3", "4"])},
    "huge": {"cn": "Too large", **account(uidNumber="4294967296", gidNumber="2002")},
    "below": {"cn": "Negative", **account(uidNumber="-1", gidNumber="2002")},
}
GROUPS = {"vision": ["ada", "grace"], "speech": ["ada"], "admins": ["grace"], "of another cluster": ["ada"]}


def missing():
    """Why there is no directory here; None if there can be one."""
    return None if SLAPD and pathlib.Path("/usr/lib/ldap/ppolicy.so").exists() else "slapd is not installed (Debian: apt install slapd)"


def dn_of(person):
    return "uid=" + "".join(f"\\{ord(c):02x}" if c in ",+" else c for c in person) + f",ou=people,{SUFFIX}"


def entry(dn, **attributes):
    lines = [f"dn: {dn}"]
    for name, values in attributes.items():
        lines += [f"{name}: {v}" for v in ([values] if isinstance(values, str) else values or [])]
    return "\n".join(lines) + "\n\n"


def content():
    text = entry(SUFFIX, objectClass=["dcObject", "organization"], dc="example", o="Example")
    text += entry(f"ou=people,{SUFFIX}", objectClass="organizationalUnit", ou="people")
    text += entry(f"ou=groups,{SUFFIX}", objectClass="organizationalUnit", ou="groups")
    policy = {"objectClass": ["pwdPolicy", "device"], "pwdAttribute": "userPassword", "pwdLockout": "TRUE", "pwdMustChange": "TRUE"}
    text += entry(f"cn=policy,{SUFFIX}", cn="policy", **policy)
    text += entry(f"cn=aging,{SUFFIX}", cn="aging", pwdMaxAge="60", **policy)
    text += entry(SERVICE, objectClass=["organizationalRole", "simpleSecurityObject"], cn="service", userPassword=SERVICE_PASSWORD)
    for name, more in PEOPLE.items():
        groups = [f"cn={g},ou=groups,{SUFFIX}" for g, members in GROUPS.items() if name in members]
        text += entry(dn_of(name), **{"objectClass": "inetOrgPerson", "uid": name, "sn": name, "userPassword": PASSWORD, "memberOf": groups, **more})
    for name, members in GROUPS.items():
        text += entry(f"cn={name},ou=groups,{SUFFIX}", objectClass="groupOfNames", cn=name, member=[dn_of(m) for m in members])
    return text


class Directory:
    def __init__(self, directory, names="DNS:localhost,IP:127.0.0.1", more=""):
        self.dir = directory / "slapd"
        (self.dir / "data").mkdir(parents=True)
        self.authority = Authority(self.dir / "authority")
        self.authority.sign(self.dir / "server.crt", self.dir / "server.key", names)
        self.config = self.dir / "slapd.conf"
        self.config.write_text(CONFIG.format(dir=self.dir, suffix=SUFFIX, service=SERVICE, more=more))
        (self.dir / "content.ldif").write_text(content())
        done = subprocess.run([SLAPD, "-T", "add", "-q", "-f", self.config, "-l", self.dir / "content.ldif"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.port, self.plain_port = free_port(), free_port()
        self.url, self.plain_url = f"ldaps://127.0.0.1:{self.port}", f"ldap://127.0.0.1:{self.plain_port}"
        self.process = None

    def start(self):
        with open(self.dir / "slapd.log", "ab") as log:
            self.process = subprocess.Popen([SLAPD, "-f", self.config, "-d", "stats", "-h", f"{self.url} {self.plain_url}"], stdout=log, stderr=log)
        wait_for("slapd", self._listens)

    def _listens(self):
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=10):
            return True
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def binds(self):
        """How many names and passwords it was given. Lines about connections that end (UNBIND) may come late."""
        return self.log().count(" BIND dn=")

    def log(self):
        return (self.dir / "slapd.log").read_text(errors="replace")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


# ---- a directory that says what a test tells it ----

def ber(tag, *parts):
    body = b"".join(parts)
    n = len(body)
    length = bytes([n]) if n < 128 else bytes([0x84]) + n.to_bytes(4, "big")
    return bytes([tag]) + length + body


def message(number, operation):
    return ber(0x30, ber(0x02, bytes([number])), operation)


def result(tag, code=0):
    return ber(tag, ber(0x0A, bytes([code])), ber(0x04, b""), ber(0x04, b""))


BIND_REQUEST, SEARCH_REQUEST = 0x60, 0x63
BOUND, FOUND, SEARCHED = 0x61, 0x64, 0x65


def found(dn):
    return ber(FOUND, ber(0x04, dn.encode()), ber(0x30))


class Raw(bytes):
    """What goes past TLS."""


class Scripted:
    """A server that gives each request's number and kind to `answer`, and sends what that yields; it never checks anything."""

    def __init__(self, directory, answer):
        self.authority = Authority(directory / "scripted")
        cert, key = directory / "scripted.crt", directory / "scripted.key"
        self.authority.sign(cert, key)
        self.answer, self.connected = answer, threading.Semaphore(0)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(cert, key)
        self.listener = socket.create_server(("127.0.0.1", free_port()), backlog=64)
        self.url = f"ldaps://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = set()

    def _serve(self, connection):
        with contextlib.suppress(OSError), self.tls.wrap_socket(connection, server_side=True) as stream:
            self.open.add(stream)
            self.connected.release()
            data = b""
            while chunk := stream.recv(65536):
                data += chunk
                while len(data) > 1 and len(data) >= 2 + data[1]:  # the requests of these tests are shorter than 128 bytes
                    request, data = data[:2 + data[1]], data[2 + data[1]:]
                    for part in self.answer(request[4], request[5]):
                        if isinstance(part, Raw):
                            os.write(stream.fileno(), part)
                        else:
                            stream.sendall(part)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def hang_up(self):
        for stream in list(self.open):
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.hang_up()
