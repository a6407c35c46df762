"""A provider of OpenID Connect that does what a test tells it, also what an honest one never would: it signs wrongly, names another
issuer or audience, sends tokens of yesterday, rotates its keys, is slow, or is gone.

    with IdentityProvider() as idp:
        idp.person = {"sub": "1", "email": "ada@example.com"}
        browser.get(master_url + "/oidc/sso")      # leads to idp and back: whoever asks is logged in at once

Codes, PKCE, the client's secret and redirect addresses are checked as RFC 6749 and RFC 7636 say.
"""
import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CLIENT_ID, CLIENT_SECRET = "determined", "client-s3cret/+&"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(n):
    return b64(n.to_bytes((n.bit_length() + 7) // 8, "big"))


class RsaKey:
    def __init__(self, kid, bits=2048):
        self.kid, self.alg = kid, "RS256"
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=bits)

    def public(self):
        n = self.private.public_key().public_numbers()
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": number(n.n), "e": number(n.e)}

    def sign(self, data):
        return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())


class EcKey:
    def __init__(self, kid):
        self.kid, self.alg = kid, "ES256"
        self.private = ec.generate_private_key(ec.SECP256R1())

    def public(self):
        n = self.private.public_key().public_numbers()
        return {"kty": "EC", "use": "sig", "crv": "P-256", "kid": self.kid, "x": b64(n.x.to_bytes(32, "big")), "y": b64(n.y.to_bytes(32, "big"))}

    def sign(self, data):
        r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def signed(header, claims, sign):
    text = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"
    return f"{text}.{b64(sign(text.encode()))}"


class IdentityProvider:
    KEY = RsaKey("first")  # making one takes a tenth of a second

    def __init__(self):
        self.person = {}
        self.honest()

    def honest(self):
        """What the provider says from now on is true again."""
        self.keys = [self.KEY]
        self.change_claims = lambda claims: claims
        self.change_discovery = lambda document: document
        self.make_token = self.sign_token
        self.userinfo = None  # a dictionary: the ID token has `sub` only, and the rest is asked for
        self.userinfo_of = None  # the subject of that, if it is another
        self.refuse_with = None  # an error in place of a code
        self.token_status = 200
        self.waiting = None  # an Event: answers of the token endpoint wait for it
        self.asked = []  # paths, in order
        self.codes = {}

    def sign_token(self, claims):
        key = self.keys[-1]
        return signed({"alg": key.alg, "kid": key.kid, "typ": "JWT"}, claims, key.sign)

    # ---- the server ----

    def __enter__(self):
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, document, **headers):
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                provider.asked.append(url.path)
                provider.get(self, url.path, dict(urllib.parse.parse_qsl(url.query)))

            def do_POST(self):
                provider.asked.append(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                provider.token(self, dict(urllib.parse.parse_qsl(body)))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        if self.waiting:
            self.waiting.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def get(self, handler, path, query):
        if path == "/.well-known/openid-configuration":
            handler.answer(200, self.change_discovery({
                "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token",
                "userinfo_endpoint": f"{self.url}/userinfo", "jwks_uri": f"{self.url}/keys"}))
        elif path == "/keys":
            handler.answer(200, {"keys": [key.public() for key in self.keys]})
        elif path == "/authorize":
            self.authorize(handler, query)
        elif path == "/userinfo" and handler.headers["Authorization"] == "Bearer access":
            handler.answer(200, {"sub": self.userinfo_of or self.person["sub"], **(self.userinfo or {})})
        else:
            handler.answer(404, {})

    def authorize(self, handler, query):
        assert query["response_type"] == "code" and query["client_id"] == CLIENT_ID and query["code_challenge_method"] == "S256", query
        assert "openid" in query["scope"].split(), query
        answer = {"state": query["state"]}
        if self.refuse_with:
            answer["error"] = self.refuse_with
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self.codes[answer["code"]] = query
        handler.answer(302, b"", Location=f"{query['redirect_uri']}?{urllib.parse.urlencode(answer)}")

    def token(self, handler, form):
        if self.waiting:
            self.waiting.wait()
        asked = self.codes.pop(form.get("code"), None)
        basic = base64.b64encode(f"{CLIENT_ID}:{urllib.parse.quote(CLIENT_SECRET, safe='')}".encode()).decode()
        if handler.headers["Authorization"] != f"Basic {basic}":
            handler.answer(401, {"error": "invalid_client"})
        elif self.token_status != 200:
            handler.answer(self.token_status, b"<html>broken</html>")
        elif (not asked or asked["redirect_uri"] != form["redirect_uri"]
              or b64(hashlib.sha256(form["code_verifier"].encode()).digest()) != asked["code_challenge"]):
            handler.answer(400, {"error": "invalid_grant"})
        else:
            claims = {"iss": self.url, "aud": CLIENT_ID, "iat": int(time.time()), "exp": int(time.time()) + 300, "nonce": asked["nonce"],
                      **({"sub": self.person["sub"]} if self.userinfo is not None else self.person)}
            handler.answer(200, {"access_token": "access", "token_type": "Bearer", "id_token": self.make_token(self.change_claims(claims))})


class Browser:
    """Keeps cookies, and follows redirects one by one."""

    def __init__(self):
        import requests

        self.session = requests.Session()
        self.session.trust_env = False

    def get(self, url):
        return self.session.get(url, allow_redirects=False, timeout=60)

    def to_callback(self, url):
        """Begins a login, and returns the address at which the provider sends the browser back."""
        begun = self.get(url)
        assert begun.status_code == 302, begun.text
        return self.get(begun.headers["Location"]).headers["Location"]

    def log_in(self, url):
        """Returns the master's last answer."""
        return self.get(self.to_callback(url))
