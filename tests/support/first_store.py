"""The store of a master that has been started once: a copy of it saves the next master its first start.

A first start makes two accounts, whose passwords cost a tenth of a second of a core each, and all tables: on PostgreSQL 0.6 s of a
core in all. The cluster's id and the epoch are forgotten, so that each master still makes its own. The token of agents is not
copied.
"""
import atexit
import contextlib
import functools
import pathlib
import shutil
import sqlite3
import tempfile

from support import postgres

FORGOTTEN = ("DELETE FROM kv WHERE key = 'cluster_id'", "DELETE FROM master_epoch")
NO_TABLES = "SELECT count(*) = 0 FROM pg_tables WHERE schemaname = 'public'"


def start_once(make_cluster, db):
    """Returns the data directory of a master that has been started and stopped."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="det-first-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    with make_cluster(directory, config={"db": db}) as cluster:
        cluster.start_master(use_template=False)
    return directory / "data"


@functools.cache
def first_file(make_cluster):
    file = start_once(make_cluster, {"type": "sqlite"}) / "determined.db"
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        for statement in FORGOTTEN:
            db.execute(statement)
    return file


@functools.cache
def first_database(make_cluster):
    db = postgres.shared().new_database()
    start_once(make_cluster, db)
    postgres.shared().sql(";".join(FORGOTTEN), db["name"])
    return db["name"]


def copy_first_store(make_cluster, data, db):
    """Gives a master a store as after its first start, if it has none. data: its data directory, which is not there yet; db: what its
    configuration says of the database. Returns whether it has been given one."""
    if db["type"] == "sqlite":
        data.mkdir(mode=0o700)
        shutil.copy2(first_file(make_cluster), data)
        return True
    server = postgres.shared()
    if server.sql(NO_TABLES, db["name"]) != "t":
        return False
    server.sql(f'DROP DATABASE "{db["name"]}"')
    server.sql(f'CREATE DATABASE "{db["name"]}" TEMPLATE "{first_database(make_cluster)}"')
    return True
