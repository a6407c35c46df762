"""Questions about PostgreSQL as the store: a server of the bench's own on the same machine, durable as it comes."""
from ask_api import credentials, paused_experiment, write_script
from ask_store import numbers_of
from harness import Row, built, question, running_master, wrk
from support import postgres

# As a server comes, but for its memory; tests run without fsync.
DURABLE = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "128MB", "autovacuum": "on"}


def place_of(server, db):
    return f"postgresql://postgres@/{db['name']}?host={server.dir}"


def floor(place):
    return numbers_of("postgres_floor", place)["one row a commit, libpq alone"]


def bare_store(server):
    """Each run has a database of its own; the floor is measured in turns with it."""
    found, bare = {}, []
    for _ in range(3):
        place = place_of(server, server.new_database())
        for what, value in numbers_of("store_append", place).items():
            found.setdefault(what, []).append(value)
        bare.append(floor(place))
    yield Row("PostgreSQL: one small row a commit", found["one small row a commit"], "/s", "", "libpq alone, fsynced", bare)
    for what in ("experiments with a trial, 32 a commit", "metrics reports, 100 a commit", "metrics reports, 1,000 a commit",
                 "log lines, batches of 10, 32 a commit", "log lines, batches of 1,000, 5 a commit", "log lines read"):
        yield Row(f"PostgreSQL: {what}", found[what], "/s")


def creations(cluster):
    script = write_script(cluster.dir / "create.lua", paused_experiment(cluster))
    return [wrk(cluster.url + "/api/v1/experiments", 32, 2, credentials(cluster), script) for _ in range(3)]


def lists(cluster):
    return [wrk(cluster.url + "/api/v1/experiments?limit=50", 64, 2, credentials(cluster)).per_s for _ in range(3)]


@question
def postgres_store():
    """What does the store take and give on PostgreSQL, and the master with it?"""
    if not postgres.is_installed():
        print("  skipped: no PostgreSQL is installed")
        return
    built("postgres_floor")
    with postgres.Server(**DURABLE) as server:
        yield from bare_store(server)
        with running_master() as cluster:
            embedded, embedded_lists = creations(cluster), lists(cluster)
        with running_master(db=server.new_database()) as cluster:
            loads = creations(cluster)
            yield Row("PostgreSQL: experiments created (paused), 32 clients", [load.per_s for load in loads], "/s", "",
                      "on SQLite", [load.per_s for load in embedded])
            yield Row("… p99", [load.p99_ms for load in loads], "ms", "", "on SQLite", [load.p99_ms for load in embedded])
            yield Row("PostgreSQL: GET /api/v1/experiments?limit=50, 64 connections", lists(cluster), "/s", "", "on SQLite",
                      embedded_lists)
