"""What `make install` leaves is enough to run a cluster from."""
import os
import shutil
import subprocess

from support.cluster import BUILD, ROOT, Cluster


def install(tmp_path):
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tmp_path / "dest"], check=True,
                   cwd=ROOT, stdout=subprocess.DEVNULL)


def test_an_installed_cluster_runs_a_trial_that_imports_the_library(tmp_path):
    install(tmp_path)
    [bin_dir] = [os.path.dirname(p) for p in (tmp_path / "dest").glob("**/bin/determined-agent")]
    assert sorted(os.listdir(bin_dir)) == ["det", "determined-agent", "determined-master", "determined-task"]
    manuals = {p.name for p in (tmp_path / "dest").glob("**/man/man?/*")}
    assert {"det.1", "det-experiment.1", "determined-master.8", "determined-agent.8", "determined-task.8"} <= manuals
    with Cluster(tmp_path / "cluster", programs=bin_dir) as c:
        c.start_master()
        c.start_agent()
        c.login()
        x = c.create(entrypoint="python3 -c 'import determined; print(determined.__file__)'")
        assert c.wait_experiment(x)["state"] == "STATE_COMPLETED"
        assert str(tmp_path / "dest") in c.trial_log(c.trial_ids(x)[0])


SDK_BLOCK = "from determined.experimental import client; import determined; print(client.get_experiment.__name__, determined.__file__)"


def test_the_systems_python_imports_the_sdk_by_the_installed_pth_file(tmp_path):
    """The file names the library's directory below the prefix; here everything is below DESTDIR instead."""
    install(tmp_path)
    [pth] = (tmp_path / "dest").glob("**/dist-packages/determined.pth")
    library = tmp_path / "dest" / pth.read_text().strip().lstrip("/")
    assert pth.read_text().startswith("/") and (library / "determined/__init__.py").exists()
    site = tmp_path / "site"
    site.mkdir()
    (site / "determined.pth").write_text(f"{library}\n")
    done = subprocess.run(["/usr/bin/python3", "-c", f"import site; site.addsitedir({str(site)!r}); {SDK_BLOCK}"], capture_output=True,
                          text=True, check=False, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.stdout.split() == ["get_experiment", str(library / "determined/__init__.py")], done.stderr


def test_sample_configurations_docs_and_examples_are_installed_and_good(tmp_path):
    install(tmp_path)
    [doc] = (tmp_path / "dest").glob("**/share/doc/determined")
    for name in ("docs/installation.md", "docs/python-environment.md", "docs/reference/master-config.md", "examples/core_api/const.yaml"):
        assert (doc / name).exists(), name
    (tmp_path / "token").write_text("a-token-of-the-master")
    for program, sample in (("determined-master", "master.yaml"), ("determined-agent", "agent.yaml")):
        checked = tmp_path / sample
        checked.write_text((doc / "sample-config" / sample).read_text().replace("/etc/determined", str(tmp_path)).replace("agent.token", "token"))
        checked = subprocess.run([BUILD / program, "config", "check", checked], capture_output=True, text=True, check=False, cwd=tmp_path,
                                 env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
        assert checked.returncode == 0 and "warning" not in checked.stderr, checked.stderr


def test_the_lists_for_notebooks_and_tensorboards_are_installed_where_the_agent_looks_and_have_hashes(tmp_path):
    install(tmp_path)
    [agent] = (tmp_path / "dest").rglob("determined-agent")
    for name in ("notebook", "tensorboard"):
        text = (agent.parent / f"../share/determined/environments/{name}.txt").read_text()
        packages = [part for part in text.replace("\\\n", "").splitlines() if part and not part.startswith("#")]
        assert packages and all("==" in package and "--hash=sha256:" in package for package in packages)


def test_shells_find_the_completions(tmp_path):
    install(tmp_path)
    for shell, name in (("bash", "bash-completion/completions/det"), ("zsh", "zsh/site-functions/_det"), ("fish", "fish/vendor_completions.d/det.fish")):
        [script] = (tmp_path / "dest").rglob(f"share/{name}")
        assert script.read_text() == subprocess.run([BUILD / "det", "completion", shell], capture_output=True, text=True, check=True).stdout
        if shutil.which(shell):
            subprocess.run([shell, "-n", script], check=True)
