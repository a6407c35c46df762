"""Commands about who may do what, and about models: against the fake master, in the shapes of contract/api.json."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import conftest
import pytest
from support.fake_master import clients as fake_master
from support.fake_master import registry
from support.ports import fixed_port

RELEASED = os.environ.get("DET_RELEASED_CLIENT", "")
needs_released = pytest.mark.skipif(not pathlib.Path(RELEASED).is_file(), reason="no released client: set DET_RELEASED_CLIENT to its det")


@needs_released
@pytest.mark.parametrize("words", [
    "auth list-providers", "model list", "model list --json", "model describe digits", "model describe digits --json", "model describe digits --version 1",
    "model list-versions digits", "model list-versions digits --json", f"model register-version digits {fake_master.CHECKPOINT}", "model create new",
    "model create new --json", "model move digits -w Uncategorized", "model delete digits", "m ls -w a,b --sort-by name --order-by desc",
    "user-group list", "user-group list --json", "user-group describe students", "user-group describe students --json",
    "user-group create new --add-user determined --add-user admin", "user-group create empty", "user-group add-user students determined,admin",
    "user-group remove-user students determined", "user-group change-name students learners", "user-group delete students --yes",
    "rbac list-roles", "rbac list-roles --json", "rbac describe-role Editor", "rbac describe-role Editor --json", "rbac list-users-roles determined",
    "rbac list-users-roles determined --json", "rbac list-groups-roles students", "rbac list-groups-roles students --json", "rbac my-permissions --json",
    "rbac assign-role Editor -u determined", "rbac assign-role Editor -g students -w Uncategorized", "rbac unassign-role Viewer -u admin -w Uncategorized",
    "token list", "token list --json", "token list --yaml", "token describe 12", "token describe 12 13 --json", "token create", "token create determined -e 2",
    "oauth client list", "oauth client add a b", "oauth client remove 4f2a",
    "config-policies describe experiment", "config-policies describe tasks -w Uncategorized --json", "config-policies delete tasks",
    "config-policies delete experiment -w Uncategorized",
    "workspace list-members Uncategorized", "workspace list-members Uncategorized --json", "workspace list-members Uncategorized --csv",
    "workspace bindings list Uncategorized", "workspace bindings set Uncategorized --namespace vision",
    "workspace bindings set Uncategorized --namespace vision --cluster-name west", "workspace bindings delete Uncategorized",
    "workspace resource-quota set Uncategorized 4", "workspace resource-quota set Uncategorized 4 --cluster-name west",
    "resources raw 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z", "resources aggregated 2026-11 2026-12 --monthly",
    "resources allocations 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z",
    "master cluster-message get", "master cluster-message get --json", "master cluster-message clear", "master config set --log.level DEBUG",
])
def test_same_output_and_exit_code_as_the_released_client(det, master, words, tmp_path):
    master.rbac = True
    det.config.mkdir()
    ours = det.run(*words.split())
    changes, master.changes = master.changes, []
    det.environment["DET_DEBUG_CONFIG_PATH"] = str(tmp_path / "released")
    released = det.run(*words.split(), program=RELEASED)
    assert (ours.returncode, ours.stdout) == (released.returncode, released.stdout), ours.stderr + released.stderr
    assert [what for what, _ in changes] == [what for what, _ in master.changes]


# ---- models ----

def test_models_are_listed_from_all_pages(det, master):
    rows = [row.split("|") for row in det("model", "list", "-w", "a,b", "--sort-by", "name", "--order-by", "desc").splitlines()]
    assert [c.strip() for c in rows[0]] == ["ID", "Name", "Workspace ID", "Creation Time", "Last Updated Time", "Metadata"]
    query = next(q for _, path, q, _ in master.requests if path == "/api/v1/models")
    assert query["workspaceNames"] == ["a", "b"] and query["sortBy"] == ["SORT_BY_NAME"] and query["orderBy"] == ["ORDER_BY_DESC"]
    assert [m["name"] for m in json.loads(det("model", "list", "--json"))] == ["digits", "letters"]


def test_a_model_is_described_with_its_newest_version_or_the_named_one(det):
    assert "Version #" in det("model", "describe", "digits") and fake_master.CHECKPOINT in det("model", "describe", "digits")
    assert det("model", "describe", "digits", "--version", 1).split("\n\n")[-1].splitlines()[3].split("|")[0].strip() == "1"
    assert [row.split(",")[0] for row in det("model", "list-versions", "digits", "--csv").splitlines()
            if row[:2] in ("2,", "1,")] == ["2", "1"]


def test_an_alias_of_a_version_is_set_shown_and_removed(det, master):
    assert det("model", "describe", "digits", "--version", "production").split("\n\n")[-1].splitlines()[3].split("|")[0].strip() == "1"
    rows = det("model", "alias", "list", "digits", "--csv").splitlines()
    assert rows == ["Alias,Version #,Set By,Last Updated Time", "production,1,determined,2026-11-21 07:00:00+00:00"]
    assert det("model", "alias", "set", "digits", "staging", "production") == "Alias staging of model digits stands for version 1.\n"
    assert det("model", "alias", "remove", "digits", "staging") == "Removed alias staging of model digits.\n"
    (put, sent), (removed, _) = master.changes
    assert (put, sent["version"], removed) == ("set staging", 1, "remove staging")


def test_models_are_made_moved_and_deleted(det, master):
    det("model", "create", "new", "-w", "vision", "--description", "d")
    det("model", "register-version", "digits", fake_master.CHECKPOINT)
    det("model", "move", "digits", "-w", "vision")
    det("model", "delete", "digits")
    (made, new), (registered, version), (moved, patch), (deleted, _) = master.changes
    assert (made, registered, moved, deleted) == ("create", "register", "change digits", "delete digits")
    assert new["workspaceName"] == "vision" and version["checkpointUuid"] == fake_master.CHECKPOINT and patch["workspaceName"] == "vision"


# ---- groups and roles ----

def test_groups_are_changed_by_the_names_of_users(det, master):
    det("user-group", "create", "new", "--add-user", "determined", "--add-user", "determined")
    det("user-group", "add-user", "students", "admin,determined")
    det("user-group", "remove-user", "students", "admin")
    assert [(body.get("name"), body.get("addUsers"), body.get("removeUsers")) for _, body in master.changes] == [
        ("new", [2], None), ("", [1, 2], []), ("", [], [1])]


def test_a_group_is_deleted_after_a_question(det, master):
    assert "Skipping" in det("user-group", "delete", "students", stdin="n\n") and not master.changes
    assert det("user-group", "delete", "students", stdin="y\n").endswith("user group with name students and ID 11 deleted\n")


def test_permissions_are_those_of_each_scope(det, master):
    shown = det("rbac", "my-permissions")
    assert shown.startswith("global permissions assigned\n") and "permissions assigned over workspace 'Uncategorized' with ID '1'" in shown
    assert shown.count("update experiment") == 2 and "{'cluster': True, 'workspace': True}" in shown
    master.assigned = False
    assert det("rbac", "my-permissions") == "no permissions assigned\n"
    assert det("rbac", "list-users-roles", "determined") == "user has no role assignments\n"
    assert det("rbac", "list-groups-roles", "students") == "group has no role assignments\n"


def test_a_role_is_assigned_to_a_user_or_to_a_group(det, master):
    det("rbac", "assign-role", "Editor", "-u", "determined", "-w", "Uncategorized")
    det("rbac", "unassign-role", "Viewer", "-g", "students")
    (add, one), (remove, two) = master.changes
    assert (add, remove) == ("add", "remove")
    (given,) = one["userRoleAssignments"]
    assert given["userId"] == 2 and given["roleAssignment"]["role"]["roleId"] == 5 and given["roleAssignment"]["scopeWorkspaceId"] == 1
    (taken,) = two["groupRoleAssignments"]
    assert taken["groupId"] == 11 and "scopeWorkspaceId" not in taken["roleAssignment"] and not one.get("groupRoleAssignments")


# ---- tokens and logins ----

def test_a_token_is_made_and_logs_its_user_in(det, master):
    assert det("token", "create", "-e", 7, "-d", "nightly") == "TokenID: 14\nAccess-Token: v2.public.secret\n"
    assert det("token", "create", "determined", "-e", -1, "--json").startswith('{\n  "token": ')
    assert [(c["lifespan"], c["userId"]) for _, c in master.changes] == [("168h", 2), ("-1", 2)]
    master.tokens["v2.public.secret"] = "determined"
    for words, stdin in ((("token", "login", "v2.public.secret"), ""), (("token", "login", "-"), "v2.public.secret\n")):
        assert det(*words, stdin=stdin).endswith("Authenticated as determined.\n")
        stored = json.loads((det.config / "auth.json").read_text())["masters"][det.url]
        assert stored == {"active_user": "determined", "tokens": {"determined": "v2.public.secret"}}
    done = det.run("token", "login", "wrong")
    assert done.returncode == 1 and "does not accept this token" in done.stderr and "wrong" not in done.stderr


def test_a_token_is_edited_and_revoked(det, master):
    assert json.loads(det("token", "edit", 12, "-d", "new", "--json"))["tokenInfo"]["id"] == 12
    assert det("token", "revoke", 12).endswith("Successfully revoked token 12.\n")
    assert [c.get("setRevoked", False) for _, c in master.changes] == [False, True]


PROVIDER = {"name": "Okta", "sso_url": "http://idp.example/sso", "type": "OIDC", "always_redirect": False}


def test_providers_are_listed(det, master):
    assert det("auth", "list-providers") == "No SSO providers found.\n" == det("auth", "login")
    master.sso_providers = [PROVIDER, PROVIDER | {"name": "saml"}]
    assert det("auth", "list-providers") == "Available providers: Okta, saml.\n"
    assert [p["name"] for p in json.loads(det("auth", "list-providers", "--json"))] == ["Okta", "saml"]


def test_login_through_a_provider_without_a_browser(det, master):
    master.sso_providers = [PROVIDER]
    done = det.run("auth", "login", "--headless", stdin=f"http://localhost:49176/\nhttp://localhost:49176/?a=b&token={fake_master.TOKEN}%3D\n")
    assert "http://idp.example/sso?relayState=cli" in done.stdout and "Could not extract token" in done.stdout
    assert done.returncode == 1 and "does not accept this token" in done.stderr  # the escaped sign belongs to the token
    shown = det("auth", "login", "--headless", "-p", "okta", stdin=f"http://localhost:49176/?token={fake_master.TOKEN}\n")
    assert shown.endswith("Authenticated as determined.\n")


def test_login_through_a_provider_with_a_browser(det, master, tmp_path):
    master.sso_providers = [PROVIDER]
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" >{tmp_path}/url\ncurl -s http://127.0.0.1:49176/favicon.ico >{tmp_path}/icon\n"
                       f"curl -s 'http://127.0.0.1:49176/?token={fake_master.TOKEN}' >{tmp_path}/page\n")
    browser.chmod(0o755)
    with fixed_port(49176) as is_free:
        if not is_free:
            pytest.skip("port 49176 is taken on this machine")
        shown = det("auth", "login", BROWSER=browser)
    assert "Your browser should open" in shown and shown.endswith("Authenticated as determined.\n")
    assert (tmp_path / "url").read_text() == "http://idp.example/sso?relayState=cli\n" and (tmp_path / "icon").read_text() == "There is no token."
    fallen_back = det("auth", "login", BROWSER="/nonexistent/browser", stdin=f"http://localhost/?token={fake_master.TOKEN}\n")
    assert "Falling back to --headless" in fallen_back and fallen_back.endswith("Authenticated as determined.\n")


# ---- the cluster ----

def test_policies_are_sent_as_they_are_written(det, master, tmp_path):
    (tmp_path / "p.yaml").write_text("constraints: {resources: {max_slots: 4}}  # why\n")
    shown = det("config-policies", "set", "tasks", tmp_path / "p.yaml")
    assert shown.startswith("Set global tasks config policies:\nconstraints:\n") and master.changes[-1][1]["configPolicies"].endswith("# why\n")
    assert "for workspace Uncategorized" in det("cp", "set", "experiment", tmp_path / "p.yaml", "-w", "Uncategorized")
    assert [r[1] for r in master.requests if r[0] == "PUT"] == ["/api/v1/config-policies/global/NTSC", "/api/v1/config-policies/workspaces/1/EXPERIMENT"]


def test_the_message_to_all_users(det, master):
    det("master", "cluster-message", "set", "-m", "new disks", "-s", "2026-11-21T07:00:00Z", "-d", "24h")
    assert master.changes[-1][1] == {"message": "new disks", "startTime": "2026-11-21T07:00:00Z", "duration": "24h"}
    det("master", "cluster-message", "set", "-m", "now")
    assert master.changes[-1][1]["startTime"].startswith("20")
    assert "new disks tonight" in det("master", "cluster-message", "get")


def test_the_masters_log_is_changed(det, master):
    done = det.run("master", "config", "set", "--log.level", "debug", "--log.color", "off")
    assert done.stdout == "Successfully made changes to the master config.\n" and "until the master starts again" in done.stderr
    (_, body), = master.changes
    assert body["config"]["log"]["level"] == "LOG_LEVEL_DEBUG" and sorted(body["fieldMask"]["paths"]) == ["log.color", "log.level"]


def test_use_of_resources(det, master):
    times = ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")
    assert det("resources", "allocations", *times).encode() == registry.ALLOCATIONS_CSV.encode().replace(b"\r\n", b"\n")
    assert json.loads(det("resources", "allocations", *times, "--json")) == [{"allocation_id": "1.task-1.0", "task_type": "TRIAL", "username": "ann"}]
    assert json.loads(det("resources", "raw", *times, "--json"))["resourceEntries"][0]["seconds"] == 60.5
    det("resources", "aggregated", "2026-11", "2026-12", "--monthly")
    assert master.requests[-1][2]["period"] == ["RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"]


# ---- what is wrong ----

WRONG = [
    ("model describe none", 1, "Failed to describe a model: model 'none' not found"),
    ("model describe digits --version 0", 2, "versions are counted from 1"),
    ("model move digits", 2, "-w/--workspace-name"),
    ("user-group describe none", 1, "could not find user group name none"),
    ("user-group create new --add-user nobody", 1, "could not find users for usernames nobody"),
    ("user-group add-user students ,", 1, "no user is named"),
    ("rbac assign-role Editor", 1, "must provide exactly one of --username-to-assign or --group-name-to-assign"),
    ("rbac assign-role Editor -u determined -g students", 1, "must provide exactly one of"),
    ("rbac describe-role none", 1, "could not find role name none"),
    ("rbac assign-role Editor -u determined -w none", 1, "workspace 'none' not found"),
    ("token describe x", 2, "invalid int value"), ("token revoke -- -1", 2, "not the id of a token"), ("token edit 12", 2, "Nothing to change"),
    ("token create -e 0", 2, "at least 1, or -1 for never"),
    ("config-policies describe models", 2, "argument workload_type"), ("config-policies set tasks nothing.yaml", 1, "No such file or directory"),
    ("workspace bindings set Uncategorized", 2, "must provide --namespace NAMESPACE"),
    ("workspace bindings set Uncategorized --namespace a --auto-create-namespace", 2, "not allowed with"),
    ("workspace resource-quota set Uncategorized many", 2, "invalid int value"),
    ("resources raw yesterday today", 2, "no time of the form"), ("master cluster-message set", 2, "-m/--message"),
    ("master cluster-message set -m x -s tomorrow", 2, "RFC 3339"), ("master cluster-message set -m x -e 2026-11-21T07:00:00Z -d 2h", 2, "not allowed with"),
    ("master config set", 2, "at least one argument"), ("oauth client add portal", 2, "domain"),
]


@pytest.mark.parametrize("words, status, said", WRONG)
def test_what_is_wrong_is_said_and_nothing_is_changed(det, master, words, status, said):
    done = det.run(*words.split())
    assert (done.returncode, done.stdout) == (status, "") and said in done.stderr and not master.changes, done
    assert len(done.stderr.strip().splitlines()) <= 3


@pytest.mark.parametrize("words", ["model list", "user-group list", "rbac list-roles", "rbac my-permissions", "token list", "oauth client list",
                                   "config-policies describe tasks", "workspace list-members Uncategorized", "master cluster-message get",
                                   "resources raw 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z", "master config set --log.level INFO"])
@pytest.mark.parametrize("status, text", [(501, "GET /api/v1/x (X) is planned; this version of the master does not serve it"), (404, "api not found: GET /x")])
def test_a_master_that_does_not_serve_it_is_told(det, master, words, status, text):
    refusal = fake_master.Refusal(status, text)
    master.TEXTS = {}
    master.failures = {path: refusal for path in ("/api/v1/models", "/api/v1/groups", "/api/v1/roles", "/api/v1/permissions", "/api/v1/tokens", "/oauth2",
                                                  "/api/v1/config-policies", "/api/v1/master/c", "/resources")}
    done = det.run(*words.split())
    command = " ".join(words.split()[:3 if words.split()[0] in ("oauth",) or "cluster-message" in words or "config set" in words else 2])
    assert (done.returncode, done.stdout) == (1, "")
    assert f"this master does not serve yet what 'det {command}' needs" in done.stderr, done.stderr


# ---- clouds ----

CLOUDS = [("aws", "--cluster-id lab --keypair me --region eu-west-1"), ("gcp", "--cluster-id lab --project-id vision --region eu-west1"),
          ("gke-experimental", "--cluster-id lab --zone eu-west1-b")]


@pytest.mark.parametrize("cloud, options", CLOUDS)
def test_a_cloud_gets_a_module_and_is_not_called(det, master, tmp_path, cloud, options):
    directory = tmp_path / "module"
    printed = det.run("deploy", cloud, "up", *options.split())
    assert printed.returncode == 0 and "# ---- main.tf ----" in printed.stdout and "det calls no cloud" in printed.stderr
    assert "terraform -chdir=DIRECTORY init" in printed.stderr and not directory.exists()
    written = det.run("deploy", cloud, "up", *options.split(), "--output-dir", directory)
    values = json.loads((directory / "terraform.tfvars.json").read_text())
    assert values["cluster_id"] == "lab" and "eu-west1" in str(values) + str(values).replace("eu-west-1", "eu-west1")
    assert sorted(written.stdout.splitlines()) == sorted(map(str, directory.iterdir()))
    assert f"terraform -chdir={directory} apply" in written.stderr and not master.requests
    declared = "".join(f.read_text() for f in directory.glob("*.tf"))
    assert all(f'variable "{name}"' in declared for name in values)
    used = {word for word in declared.replace("(", " ").replace(")", " ").replace("}", " ").replace(",", " ").split() if word.startswith("var.")}
    assert all(f'variable "{name.removeprefix("var.").split("[")[0]}"' in declared for name in used), used


NO_TERRAFORM = pytest.mark.skipif(not shutil.which("terraform"), reason="terraform is not installed")
VALUES = {"cluster_id": "lab", "bucket": "b", "agent_token": "t" * 40, "initial_user_password": "Secret123", "scheduler_type": "fair_share", "port": 8080,
          "aux_containers": 16, "compute": json.dumps({"type": "aws", "ssh_key_name": "k"}), "aux": json.dumps({"type": "gcp", "name_prefix": "det-aux-"})}


def terraform(directory, *words, **more):
    return subprocess.run(["terraform", f"-chdir={directory}", *words], check=True, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": str(directory), "CHECKPOINT_DISABLE": "1"}, **more).stdout


def check_master_config(path):
    return subprocess.run([conftest.BUILD / "determined-master", "config", "check", path], capture_output=True, text=True, check=False,
                          env={"PATH": os.environ["PATH"]})


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_pools_of_a_module_launch_their_machines_by_keys_that_the_master_knows(det, tmp_path, cloud):
    """Without Terraform: the values are filled in here."""
    module = tmp_path / "module"
    det("deploy", cloud, "up", *dict(CLOUDS)[cloud].split(), "-o", module)
    parts = json.loads((pathlib.Path(__file__).parents[2] / "contract" / "config-parts.json").read_text())["parts"]["provider"]
    known = {row["key"] for row in parts if cloud in row.get("only", [cloud])}
    text = (module / "main.tf").read_text()
    blocks = re.findall(r"^  (?:machines|compute|aux) += .*?^  }", text, re.MULTILINE | re.DOTALL)
    used = {key for block in blocks for key in re.findall(r"^    (\w+) += ", block, re.MULTILINE)}
    assert len(blocks) == 3 and {"type", "max_instances", "agent_package_url", "instance_type"} <= used <= known
    config = (module / "master.yaml.tftpl").read_text()
    for name, value in VALUES.items():
        config = config.replace("${%s}" % name, str(value))
    (tmp_path / "master.yaml").write_text(config)
    checked = check_master_config(tmp_path / "master.yaml")
    assert checked.returncode == 0, checked.stderr


@NO_TERRAFORM
@pytest.mark.parametrize("cloud, options", CLOUDS)
def test_terraform_reads_the_module(det, tmp_path, cloud, options):
    det("deploy", cloud, "up", *options.split(), "-o", tmp_path / "module")
    terraform(tmp_path / "module", "fmt", "-check")


@NO_TERRAFORM
@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_terraform_fills_in_the_files_of_machines(det, tmp_path, cloud):
    """Without providers, so that nothing is downloaded."""
    det("deploy", cloud, "up", *dict(CLOUDS)[cloud].split(), "-o", tmp_path / "module")
    alone = tmp_path / "alone"
    alone.mkdir()
    for name in ("master.yaml.tftpl", "machine.sh.tftpl"):
        shutil.copy(tmp_path / "module" / name, alone)
    values = json.dumps(VALUES)
    script = f'templatefile("machine.sh.tftpl", {{package_url = "u", packages = "", program = "determined-master", config = templatefile("master.yaml.tftpl", {values})}})'
    shown = terraform(alone, "console", input=script)
    (alone / "machine.sh").write_text(shown.split("\n", 1)[1].rsplit("\nEOT", 1)[0])
    assert subprocess.run(["sh", "-n", alone / "machine.sh"], check=False).returncode == 0
    config = shown.split("<<'END_OF_CONFIG'\n")[1].split("END_OF_CONFIG\n")[0]
    (alone / "master.yaml").write_text(config)
    assert check_master_config(alone / "master.yaml").returncode == 0


def test_files_that_a_user_has_changed_are_kept(det, tmp_path):
    words = ("deploy", "aws", "up", "--cluster-id", "lab", "--keypair", "me", "-o", tmp_path / "lab")
    det(*words)
    assert det.run(*words).returncode == 0  # the same again
    (tmp_path / "lab" / "main.tf").write_text("# mine\n")
    done = det.run(*words)
    assert done.returncode == 1 and "main.tf is there already, with another text; --yes replaces it" in done.stderr
    assert (tmp_path / "lab" / "main.tf").read_text() == "# mine\n"
    det(*words, "--yes")
    assert "aws_instance" in (tmp_path / "lab" / "main.tf").read_text()


def test_options_without_effect_are_named(det, tmp_path):
    (tmp_path / "own.yaml").write_text("port: 8080\n")
    done = det.run("deploy", "aws", "up", "--cluster-id", "lab", "--keypair", "me", "--fsx-id", "fs-1", "--master-config-template-path", tmp_path / "own.yaml")
    assert "--fsx-id has no effect" in done.stderr and done.stderr.count("has no effect") == 1
    assert "# ---- master.yaml.tftpl ----\nport: 8080\n" in done.stdout


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_template_of_the_masters_configuration_is_one(det, tmp_path, cloud):
    text = det("deploy", cloud, "dump-master-config-template")
    for name, value in VALUES.items():
        text = text.replace("${" + name + "}", str(value))
    (tmp_path / "master.yaml").write_text(text)
    done = check_master_config(tmp_path / "master.yaml")
    assert done.returncode == 0, done.stderr


def test_commands_of_the_cloud_are_printed(det, master):
    assert det("deploy", "aws", "list", "--region", "us-west-2").startswith("aws ec2 describe-instances --region us-west-2")
    assert det("deploy", "gcp", "down", "--local-state-path", "lab") == "terraform -chdir=lab destroy\n"
    assert json.loads(det("deploy", "gcp", "list", "--project-id", "vision", "--json"))["command"].startswith("gcloud compute instances list")
    assert not master.requests
