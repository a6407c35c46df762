"""Tests the logo of the cluster's owner (ui_customization.logo_paths)."""
import pytest

LOGO = "/det/customer-assets/logo"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def branded(new_cluster, tmp_path):
    files = {f"{mode}_{orientation}": tmp_path / f"{mode}-{orientation}.{end}"
             for mode, orientation, end in (("light", "horizontal", "svg"), ("light", "vertical", "png"), ("dark", "horizontal", "JPG"), ("dark", "vertical", "txt"))}
    for name, path in files.items():
        path.write_bytes(SVG if path.suffix == ".svg" else name.encode())
    c = new_cluster(config={"ui_customization": {"logo_paths": {name: str(path) for name, path in files.items()}}})
    c.start_master()
    c.files = files
    return c


def test_the_logo_is_shown_to_everybody(branded):
    c = branded
    assert c.get("/api/v1/master", token=None).json["hasCustomLogo"] is True
    reply = c.get(LOGO, token=None)
    assert (reply.status, reply.body, reply.headers["Content-Type"]) == (200, SVG, "image/svg+xml")
    assert "sandbox" in reply.headers["Content-Security-Policy"] and "script-src" not in reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"] and reply.headers["X-Content-Type-Options"] == "nosniff"
    for query, body, kind in (("?mode=light&orientation=vertical", b"light_vertical", "image/png"), ("?mode=dark", b"dark_horizontal", "image/jpeg")):
        reply = c.get(LOGO + query, token=None)
        assert (reply.body, reply.headers["Content-Type"]) == (body, kind)
    c.files["dark_horizontal"].write_bytes(b"new")
    assert c.get(LOGO + "?mode=dark", token=None).body == b"new"


def said(reply, status):
    assert reply.status == status, reply
    return reply.json["message"]


def test_what_is_no_logo(branded, master):
    c = branded
    assert 'mode is "blue", allowed are light and dark' in said(c.get(LOGO + "?mode=blue", token=None), 400)
    assert "orientation is" in said(c.get(LOGO + "?orientation=../../etc/passwd", token=None), 400)
    assert "is no image that browsers show" in said(c.get(LOGO + "?mode=dark&orientation=vertical", token=None), 404)
    c.files["light_vertical"].write_bytes(b"x" * ((1 << 20) + 1))
    reply = c.get(LOGO + "?orientation=vertical", token=None)
    assert "cannot be read" in said(reply, 404)
    assert str(c.files["light_vertical"].parent) not in reply.body.decode() and "web.logo" in c.master_log()
    c.files["light_vertical"].unlink()
    reply = c.get(LOGO + "?orientation=vertical", token=None)
    assert reply.status == 404 and str(c.dir) not in reply.body.decode()
    assert master.get("/api/v1/master", token=None).json["hasCustomLogo"] is False
    assert "no logo of its own" in said(master.get(LOGO, token=None), 404)
