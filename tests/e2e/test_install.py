"""What `make install` leaves is enough to run a cluster from."""
import os
import subprocess

from support.cluster import BUILD, ROOT, Cluster


def test_an_installed_cluster_runs_a_trial_that_imports_the_library(tmp_path):
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tmp_path / "dest"], check=True,
                   cwd=ROOT, stdout=subprocess.DEVNULL)
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
