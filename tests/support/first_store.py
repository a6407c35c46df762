"""The store of a master that has been started once: a copy of it saves the next master its first start.

A first start makes two accounts, whose passwords cost a tenth of a second of a core each, and all tables: on PostgreSQL 0.6 s of a
core in all. The cluster's id and the epoch are forgotten, so that each master still makes its own. The token of agents is not
copied. Each login would cost as much as the password did, so the copy holds a hash of the same password that costs next to nothing to
check: a stored hash says how it was made (RFC 9106).
"""
import atexit
import contextlib
import ctypes
import functools
import pathlib
import shutil
import sqlite3
import tempfile

from support import postgres

FORGOTTEN = ("DELETE FROM kv WHERE key = 'cluster_id'", "DELETE FROM master_epoch")
SALT = b"of the tests only"
HASH_BYTES = 32
NO_TABLES = "SELECT count(*) = 0 FROM pg_tables WHERE schemaname = 'public'"


def start_once(make_cluster, db):
    """Returns the data directory of a master that has been started and stopped."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="det-first-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    with make_cluster(directory, config={"db": db}) as cluster:
        cluster.start_master(use_template=False)
    return directory / "data"


def cheap_hash(wire):
    """Returns argon2id of a password's wire form, made in one pass over 8 KiB."""
    encoded = ctypes.create_string_buffer(256)
    passes, kib, lanes = 1, 8, 1
    status = ctypes.CDLL("libargon2.so.1").argon2id_hash_encoded(
        passes, kib, lanes, wire.encode(), ctypes.c_size_t(len(wire)), SALT, ctypes.c_size_t(len(SALT)), ctypes.c_size_t(HASH_BYTES),
        encoded, ctypes.c_size_t(len(encoded)))
    assert status == 0, status
    return encoded.value.decode()


def statements(make_cluster):
    """What is changed in the store of the first master."""
    return (*FORGOTTEN, f"UPDATE users SET password_hash = '{cheap_hash(make_cluster.wire_password())}' WHERE password_hash <> ''")


@functools.cache
def first_file(make_cluster):
    file = start_once(make_cluster, {"type": "sqlite"}) / "determined.db"
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        for statement in statements(make_cluster):
            db.execute(statement)
    return file


@functools.cache
def first_database(make_cluster):
    db = postgres.shared().new_database()
    start_once(make_cluster, db)
    postgres.shared().sql(";".join(statements(make_cluster)), db["name"])
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
    server.sql(f'CREATE DATABASE "{db["name"]}" TEMPLATE "{first_database(make_cluster)}" STRATEGY FILE_COPY')
    return True
