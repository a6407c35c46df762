"""det template: what it prints, what it asks the master for, and what it refuses."""
import pytest


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "template.yaml"
    path.write_text("description: ours\nresources: {slots_per_trial: 2}\n")
    return path


SENT = {"description": "ours", "resources": {"slots_per_trial": 2}}


def test_list_and_describe(det):
    assert det("tpl") == (" Name      | Workspace\n"
                          "-----------+-------------------\n"
                          " base      | Uncategorized\n"
                          " elsewhere | missing workspace\n")
    assert "| base      | Uncategorized     | description: d |" in det("template", "ls", "-d")
    assert det("template", "describe", "base") == "description: d\nlabels:\n- a\n- b\n\n"


def test_create_sends_the_file_and_the_workspace(det, master, template):
    assert det("template", "create", "new", template) == "Created template new\n"
    assert det("template", "create", "new", "-", "-w", "Uncategorized", stdin="a: [1, yes]") == "Created template new\n"
    assert [(t["config"], t.get("workspaceId", 0)) for t in master.created] == [(SENT, 0), ({"a": [1, True]}, 1)]
    assert master.requests[-1][1] == "/api/v1/templates/new"


def test_set_changes_what_is_there_and_makes_what_is_not(det, master, template):
    assert det("template", "set", "base", template) == "Set template base\n"
    assert (master.patches, master.created) == ([SENT], [])
    assert det("template", "set", "new", template) == "Set template new\n"
    assert master.created[0]["config"] == SENT
    assert det("template", "set-value", "config", "base", template) == "Updated template base\n"
    assert master.patches == [SENT, SENT]


def test_remove(det, master):
    assert det("template", "rm", "base") == "Removed template base\n"
    assert master.requests[-1][:2] == ("DELETE", "/api/v1/templates/base")


@pytest.mark.parametrize("words, status, said", [
    (["describe", "none"], 1, "template 'none' not found"),
    (["remove", "none"], 1, "template 'none' not found"),
    (["set-value", "config", "none", "FILE"], 1, "template 'none' not found"),
    (["create", "new", "FILE", "-w", "nowhere"], 1, "workspace 'nowhere' not found"),
    (["create", "new", "no-such-file"], 2, "no-such-file"),
    (["create", "new", "LIST"], 2, "expected keys and values"),
    (["create", "new", "BROKEN"], 1, "BROKEN:1:8: did not find"),
    (["create", "new"], 2, "template_file"),
    (["list", "extra"], 2, "extra"),
])
def test_what_is_wrong_is_said(det, master, template, tmp_path, words, status, said):
    names = {"FILE": template, "LIST": tmp_path / "list.yaml", "BROKEN": tmp_path / "BROKEN"}
    names["LIST"].write_text("[1]")
    names["BROKEN"].write_text("a: {b: ]")
    done = det.run("template", *[names.get(word, word) for word in words])
    assert done.returncode == status and said in done.stderr + done.stdout, done
    assert not master.created and not master.patches


def test_an_experiment_takes_one_template(det, master, template):
    det("experiment", "create", template, "--template", "base")
    assert master.created[0]["template"] == "base"
    done = det.run("experiment", "create", template, "--template", "a", "--template", "b")
    assert done.returncode == 2 and "--template may be given only once" in done.stderr and len(master.created) == 1


def test_mistakes_of_a_configuration_come_with_file_line_and_column(det, master, template):
    from support.fake_master import clients as fake_master
    both = ('<config>.resources.slots_per_trial (line 2, column 31): must be at least 0, found -2\n'
            '<config>: "searcher" must be set')
    master.failures["/api/v1/experiments"] = fake_master.Refusal(400, both)
    done = det.run("experiment", "create", template)
    assert done.returncode == 1
    assert done.stderr.endswith("Failed to create an experiment:\n"
                                f"{template}:2:31: <config>.resources.slots_per_trial: must be at least 0, found -2\n"
                                f'{template}: <config>: "searcher" must be set\n')
    rewritten = det.run("experiment", "create", template, "--config", "resources.slots_per_trial=-2")
    assert f"\n{template}: <config>.resources.slots_per_trial: must" in rewritten.stderr
    master.failures["/api/v1/experiments"] = fake_master.Refusal(400, both.splitlines()[0])
    done = det.run("experiment", "create", "-", stdin=template.read_text())
    assert done.stderr.splitlines()[-1].startswith("Failed to create an experiment: standard input:2:31: <config>.resources.slots_per_trial: must")
