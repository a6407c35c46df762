"""Accounts and logins with the released client, and one store of logins for both clients."""
import json
import subprocess

from released import PROGRAM, environment
from support.cluster import BUILD, PASSWORD

NEW = "Another-Passw0rd"


def logins(client):
    return json.loads((client.directory / "auth.json").read_text())["masters"].get(client.environment["DET_MASTER"], {})


def without_credentials(client):
    """As a person sits there: no DET_USER and DET_PASS, only the store of logins."""
    for name in ("DET_USER", "DET_PASS"):
        del client.environment[name]
    return client


def rows(table):
    lines = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[2:]]


def test_login__asks_for_the_password_and_keeps_the_token(det):
    without_credentials(det)
    det("user login determined", stdin=PASSWORD + "\n")
    assert logins(det)["active_user"] == "determined"
    assert det("user whoami") == "You are logged in as user 'determined'\n"


def test_login__with_a_wrong_password_is_refused(det):
    done = without_credentials(det).run("user login determined", stdin="wrong\n")
    assert done.status == 1
    assert "Invalid username/password combination" in done.err, done


def test_a_token_from_the_environment_needs_no_login(det, ours, cluster):
    """DET_USER and DET_USER_TOKEN: how scripts and the reference's end-to-end tests come in."""
    without_credentials(det)
    det.environment.update(DET_USER="admin", DET_USER_TOKEN=cluster.login("admin", keep=False).json["token"])
    assert det("user whoami") == ours("user whoami") == "You are logged in as user 'admin'\n"
    assert "admin" in det("user list") and not (det.directory / "auth.json").exists()


def test_logout__ends_the_session_and_forgets_the_token(det, cluster):
    without_credentials(det)
    det("user login determined", stdin=PASSWORD + "\n")
    token = logins(det)["tokens"]["determined"]
    assert cluster.get("/api/v1/me", token=token).status == 200
    det("user logout")
    assert not logins(det).get("tokens")
    assert cluster.get("/api/v1/me", token=token).status == 401


def test_our_det_uses_the_login_of_the_released_one(det, ours):
    without_credentials(det)
    det("user login determined", stdin=PASSWORD + "\n")
    assert ours("user whoami") == "You are logged in as user 'determined'\n"
    ours("user logout")
    assert not logins(det).get("tokens")


def test_the_released_det_uses_the_login_of_ours(det, ours):
    without_credentials(det)
    ours("user login determined", stdin=PASSWORD + "\n")
    assert det("user whoami") == "You are logged in as user 'determined'\n"
    assert logins(det)["active_user"] == "determined"
    det("user logout")
    assert not logins(det).get("tokens")


def test_a_user_is_created_changed_and_shut_out(admin, det):
    admin("user create carol", stdin=f"{NEW}\n{NEW}\n")
    carol = without_credentials(det)
    carol("user login carol", stdin=NEW + "\n")
    assert carol("user whoami") == "You are logged in as user 'carol'\n"

    changed = NEW + "2"
    carol("user change-password", stdin=f"{changed}\n{changed}\n")
    assert carol.run("user login carol", stdin=NEW + "\n").status == 1
    carol("user login carol", stdin=changed + "\n")

    admin("user edit carol --display-name 'Carol of the north'")
    admin("user rename carol caroline")
    row = next(r for r in rows(admin("user list")) if r["Username"] == "caroline")
    assert row["Display Name"] == "Carol of the north" and row["Active"] == "True" and row["Admin"] == "False"

    admin("user deactivate caroline")
    assert "caroline" not in admin("user list")
    assert "caroline" in admin("user list --all")
    done = carol.run("user login caroline", stdin=changed + "\n")
    assert done.status == 1 and "user is not active" in done.err, done
    admin("user activate caroline")
    carol("user login caroline", stdin=changed + "\n")


def test_a_password_set_by_ours_logs_in_with_the_released_one(admin, det, ours):
    done = ours.run("user create dave", stdin=f"{NEW}\n{NEW}\n", DET_USER="admin")
    assert done.status == 0, done
    without_credentials(det)("user login dave", stdin=NEW + "\n")


def test_only_an_admin_creates_users(det):
    done = det.run("user create eve", stdin=f"{NEW}\n{NEW}\n")
    assert done.status == 1
    assert "forbidden" in done.err.lower(), done


def test_unknown_users_are_named(admin):
    done = admin.run("user deactivate nobody-at-all")
    assert done.status == 1
    assert "nobody-at-all" in done.err and "not found" in done.err, done


def test_the_program_itself(cluster, tmp_path):
    """The other tests fork the released client's main(); this one starts the program."""
    for program in (PROGRAM, BUILD / "det"):
        done = subprocess.run([program, "user", "whoami"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              env=environment(cluster.url, tmp_path, password=PASSWORD))
        assert (done.returncode, done.stdout) == (0, "You are logged in as user 'determined'\n"), done
