"""The released client against a master on which roles decide (security.authz.type: rbac)."""
import pytest
from released import CONTEXTS, Ours, Released
from support.cluster import BUILD, PASSWORD, Cluster, client_hash

PERSON_PASSWORD = "Long-Enough-1"


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    """A master with roles and an agent. The users ann and vic have no role yet."""
    config = {"security": {"initial_user_password": PASSWORD, "authz": {"type": "rbac"}}}
    with Cluster(tmp_path_factory.mktemp("ruled"), config=config) as c:
        c.start_master()
        c.start_agent(slots=1)
        c.login("admin")
        for name in ("ann", "vic"):
            made = c.post("/api/v1/users", {"user": {"username": name, "active": True}, "password": client_hash(PERSON_PASSWORD), "isHashed": True})
            assert made.status == 200, made
        yield c


def as_user(warm, cluster, tmp_path, name):
    directory = tmp_path / name
    directory.mkdir()
    return Released(warm, cluster.url, directory, user=name, password=PASSWORD if name == "admin" else PERSON_PASSWORD)


def test_roles_of_a_viewer_and_an_editor(warm, ruled, tmp_path, config):
    admin, ann, vic = (as_user(warm, ruled, tmp_path, name) for name in ("admin", "ann", "vic"))
    for command in ("workspace create Vision", "project create Vision Cats", "user-group create editors --add-user ann",
                    "rbac assign-role Editor -g editors -w Vision", "rbac assign-role Viewer -u vic -w Vision"):
        admin(command)
    assert "editors" in admin("user-group list") and "ann" in admin("user-group describe editors")
    assert "Editor" in admin("rbac list-groups-roles editors") and "Viewer" in admin("rbac list-users-roles vic")
    assert "Vision" in admin("rbac describe-role Editor") or "editors" in admin("rbac describe-role Editor")
    assert "create experiment" in ann("rbac my-permissions").lower().replace("_", " ")
    # the editor creates, the viewer looks, and neither sees other workspaces
    out = ann(f"experiment create --paused --project_id 2 {config} {CONTEXTS / 'train'}")
    made = out.split("Created experiment ")[1].split()[0]
    for client in (ann, vic):
        assert "Vision" in client("workspace list") and "Uncategorized" not in client("workspace list")
        assert f" {made} " in client("experiment list --all") and "compat" in client(f"experiment describe {made}")
    refused = vic.run(f"experiment kill {made}")
    assert refused.status != 0 and "no role with the permission" in refused.out + refused.err, refused
    refused = vic.run("notebook start --detach -w Vision")
    assert refused.status != 0 and "no role with the permission" in refused.out + refused.err, refused
    hidden = vic.run("workspace describe Uncategorized")
    assert hidden.status != 0 and "not found" in (hidden.out + hidden.err).lower(), hidden
    ann(f"experiment kill {made}")
    # a role that is taken away counts at once
    admin("rbac unassign-role Viewer -u vic -w Vision")
    assert "Vision" not in vic("workspace list") and vic.run(f"experiment describe {made}").status != 0
    refused = ann.run("user create eve")
    assert refused.status != 0, refused


def test_an_editor_trains_and_a_viewer_reads_what_came_of_it(warm, ruled, tmp_path, config):
    """The task reports with its own session and, by the released library, on behalf of its owner, whose role counts in one workspace only."""
    admin, ann, vic = (as_user(warm, ruled, tmp_path, name) for name in ("admin", "ann", "vic"))
    for command in ("workspace create Speech", "project create Speech Words", "rbac assign-role Editor -u ann -w Speech",
                    "rbac assign-role Viewer -u vic -w Speech"):
        admin(command)
    project = next(p["id"] for p in ruled.get("/api/v1/workspaces/0/projects").json["projects"] if p["name"] == "Words")
    out = ann(f"experiment create --project_id {project} {config} {CONTEXTS / 'train'}")
    experiment = int(out.split("Created experiment ")[1].split()[0])
    assert ruled.wait_experiment(experiment)["state"] == "STATE_COMPLETED", ruled.trial_log(ruled.trial_ids(experiment)[0])
    trial = ruled.trial_ids(experiment)[0]
    assert "COMPLETED" in vic(f"trial describe {trial}") and vic(f"trial logs {trial}")
    assert "COMPLETED" in vic(f"experiment list-checkpoints {experiment}")


def test_our_commands_say_the_same(warm, ruled, tmp_path):
    vic = Ours(BUILD / "det", as_user(warm, ruled, tmp_path, "vic"))
    refused = vic.run("workspace create Mine")
    assert refused.status != 0 and 'permission "create workspace" in the cluster' in refused.err, refused
    assert "Uncategorized" not in vic("workspace list")
