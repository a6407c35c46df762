"""Tests stores of earlier versions (tests/stores) with this version's master, and a store that a later version has used."""
import contextlib
import sqlite3

import pytest
from support import postgres, stored

ENGINES = ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(not postgres.is_installed(), reason="no PostgreSQL is installed"))]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", stored.versions())
def test_what_an_earlier_version_stored_is_read_back_the_same_and_can_be_gone_on_with(engine, version, new_cluster):
    c = new_cluster()
    stored.place(engine, version, c)
    c.start_master(expect_accounts=False)
    ids, seen = stored.expected(version, engine)
    assert stored.observe(c, ids) == seen
    c.login("admin")
    c.start_agent()
    assert c.request("POST", f"/api/v1/experiments/{ids['waits']}/kill").status == 200
    again = c.create(name="again")
    assert again == ids["waits"] + 1
    assert c.wait_experiment(again)["state"] == "STATE_COMPLETED"
    c.stop_agent()
    c.stop_master()
    c.start_master(expect_accounts=False)
    assert stored.observe(c, ids)["log"] == seen["log"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_that_a_later_version_has_had_is_refused_and_left_alone(engine, new_cluster):
    c = new_cluster()
    version = stored.versions()[-1]
    stored.place(engine, version, c)
    later = "INSERT INTO migrations (number, name) VALUES (9000, '9000_from_the_future')"
    if engine == "sqlite":
        with contextlib.closing(sqlite3.connect(stored.sqlite_file(c))) as db:
            db.execute(later)
            db.commit()
        where = str(stored.sqlite_file(c))
    else:
        name = c.config["db"]["name"]
        postgres.shared().sql(later.replace("migrations", "public.migrations"), name)
        where = f"postgresql://postgres@/{name}?host="
    c.start_master(wait=False)
    assert c.master.wait(60) == 1
    c.master = None
    [line] = c.master_log().splitlines()
    begin, _, end = line.partition(" is of version 9000, this program knows versions up to ")
    assert begin.startswith(f"determined-master: the database {where}")
    assert end.partition(": ")[2] == "run the release that wrote it, or restore a backup from before the upgrade"
    assert int(end.partition(": ")[0]) >= version
    tables = "SELECT count(*) FROM {} WHERE name = 'trials' OR name = 'templates'"
    if engine == "sqlite":
        with contextlib.closing(sqlite3.connect(stored.sqlite_file(c))) as db:
            [[n]] = db.execute(tables.format("sqlite_master"))
    else:
        n = int(postgres.shared().sql(tables.format("(SELECT tablename AS name FROM pg_tables) t"), name))
    assert n == (1 if version == 1 else 2), "nothing was migrated"
