"""Access tokens with the released client, and the tables of both clients."""
import re

from support.cluster import PASSWORD


def without_credentials(client):
    for name in ("DET_USER", "DET_PASS"):
        client.environment.pop(name, None)
    return client


def made(client, words=""):
    printed = client(f"token create {words}")
    number, token = re.fullmatch(r"TokenID: (\d+)\nAccess-Token: (\S+)\n", printed).groups()
    return int(number), token


def test_a_token_is_made_listed_described_edited_and_revoked(det, ours, cluster):
    number, token = made(det, "-e 2 -d nightly")
    other, _ = made(ours, "-d ours")
    assert cluster.get("/api/v1/me", token=token).status == 200
    assert det("token list") == ours("token list") and "nightly" in det("token list")
    assert det(f"token describe {number} {other}") == ours(f"token describe {number} {other}")
    assert f"updated token with ID: {number}" in det(f"token edit {number} -d 'every night'")
    assert "every night" in ours(f"token describe {number}")
    assert f"revoked token {number}" in det(f"token revoke {number}")
    assert cluster.get("/api/v1/me", token=token).status == 401
    assert "every night" not in det("token list") and "every night" in det("token list --show-inactive")
    assert det("token list --show-inactive") == ours("token list --show-inactive")
    done = det.run(f"token edit {number} -d x")
    assert done.status == 1 and "is revoked" in done.err, done


def test_bad_lifespans_and_other_users(det, admin):
    done = det.run("token create -e 31")
    assert done.status == 1 and "720h at most" in done.err, done
    done = det.run("token create -e -1")
    assert done.status == 1 and "720h at most" in done.err, done
    done = det.run("token create admin")
    assert done.status == 1 and "admin may create access tokens of other users" in done.err, done
    number, _ = made(admin, "determined -d 'by an admin'")
    assert "by an admin" in det("token list") and "by an admin" in admin("token list determined")
    assert admin.run("token list nobody-at-all").status == 1
    assert f"revoked token {number}" in det(f"token revoke {number}")


def test_both_clients_log_in_with_a_token(det, ours):
    _, token = made(ours, "--scope read")
    without_credentials(det)
    assert det(f"token login {token}").endswith("Authenticated as determined.\n")
    assert det("user whoami") == "You are logged in as user 'determined'\n"
    done = det.run("user edit determined --display-name x")
    assert done.status == 1 and "needs an access token with the scope all" in done.err, done
    det("user logout")  # forgets the token, which itself stays in force
    det(f"token login {token}")
    assert det("experiment list") is not None


def test_a_token_from_the_environment(det, cluster):
    login = cluster.login("determined", PASSWORD, keep=False).json
    token = cluster.post("/api/v1/tokens", {"userId": login["user"]["id"]}, token=login["token"]).json["token"]
    without_credentials(det)
    det.environment.update(DET_USER="determined", DET_USER_TOKEN=token)
    assert det("user whoami") == "You are logged in as user 'determined'\n"
    assert "determined" in det("user list")
    done = det.run("token create")
    assert done.status == 1 and "not for access tokens" in done.err, done
