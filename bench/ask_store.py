"""Questions that C programs answer: the store alone, the codec alone."""
import re
import subprocess

from harness import Row, built, directory, fsync_ms, question


def numbers_of(program, *args):
    """A bench program's lines, `what it did   number unit`, in order."""
    text = subprocess.run([built(program), *args], check=True, capture_output=True, text=True).stdout
    return {what: float(number) for what, number in re.findall(r"^(.*?)\s+([\d.]+) \S+$", text, re.MULTILINE)}


def medians(program, runs, *args):
    """{what: [number of each run]}"""
    found = {}
    for _ in range(runs):
        for what, number in numbers_of(program, *args).items():
            found.setdefault(what, []).append(number)
    return found


@question
def store():
    """What does the store take and give in a second, durable, on one connection?"""
    with directory() as path:
        disk = [1000 / t for t in fsync_ms(path)]
        found = medians("store_append", 3, str(path))
    yield Row("store: one small row a commit", found["one small row a commit"], "/s", "", "fsyncs of the disk", disk)
    for what in ("metrics reports, 100 a commit", "metrics reports, 1,000 a commit", "log lines, batches of 10, 32 a commit",
                 "log lines, batches of 1,000, 5 a commit", "log lines read", "log lines searched for a text"):
        yield Row(f"store: {what}", found[what], "/s")


@question
def searches():
    """How many events does a searcher take, with ten thousand trials at a time?"""
    with directory() as path:
        found = medians("searches", 3, str(path))
    yield Row("searches: ASHA, 10,000 trials at a time, by CPU time", found["events, stopping"], "/s", "≥ 200000")
    yield Row("… with promotion", found["events, promoting"], "/s")
    yield Row("… with what is kept for a crash: lines of events, snapshots", found["events, stopping, with lines and snapshots"], "/s",
              "", "nothing kept", found["events, stopping"])
    yield Row("… and a store, each event a row, 100 a commit", found["events, stopping, each in a row, 100 a commit"], "/s")
    yield Row("… restored with 10,000 trials", found["restore 10,000 trials"], "ms")


def costs_of(text):
    """{what: (CPU at p99, p99)} in ms, of lines of bench/store_many.h."""
    return {what.strip(): (float(cpu), float(p99)) for what, cpu, p99 in
            re.findall(r"^(.*?)\(\s*\d+ match\) cpu\s+[\d.]+, p99\s+([\d.]+) .*?p99\s+([\d.]+) ms$", text, re.MULTILINE)}


def slowest(costs):
    """Rows of the ten slowest by p99, for the reader of the table."""
    for what, (_, p99) in sorted(costs.items(), key=lambda item: -item[1][1])[:10]:
        yield Row(f"… {what}", [p99], "ms")


@question
def store_lists():
    """How long does a page of 200 of 100,000 experiments take, by the slowest sort or filter that the list has?"""
    with directory() as path:
        found = costs_of(subprocess.run([built("store_lists"), str(path)], check=True, capture_output=True, text=True).stdout)
    sorts = [p99 for what, (_, p99) in found.items() if what.startswith("by ")]
    filters = [p99 for what, (_, p99) in found.items() if not what.startswith("by ")]
    yield Row(f"a page of 200 of 100,000 experiments: slowest of {len(sorts)} sorts, p99", [max(sorts)], "ms", "≤ 20")
    yield Row(f"a page of 200 of 100,000 experiments: slowest of {len(filters)} filters, p99", [max(filters)], "ms", "≤ 20")
    yield Row("… of all of them, CPU of the slowest, p99", [max(cpu for cpu, _ in found.values())], "ms")


@question
def store_searches():
    """How long does a page of 200 of a search over 100,000 take, by every column as sort and filter, and the slowest ten of these?"""
    with directory() as path:
        text = subprocess.run([built("store_searches"), str(path)], check=True, capture_output=True, text=True).stdout
    shapes = re.split(r"^(?=1[0,]*000 experiments, )", text, flags=re.MULTILINE)[1:]
    for shape in shapes:
        name, found = shape.splitlines()[0], costs_of(shape)
        yield Row(f"a search's page of 200, {name}: slowest of {len(found)} questions, p99", [max(p99 for _, p99 in found.values())], "ms", "≤ 20")
        yield Row("… CPU of the slowest, p99", [max(cpu for cpu, _ in found.values())], "ms")
        yield from slowest(found)
        for what, number, unit in re.findall(r"^(first look|in memory|taking over\s+\d+ changed runs)\s+([\d.]+) (ms|MB)$", shape, re.MULTILINE):
            yield Row(f"… {what}", [float(number)], unit)


@question
def codec():
    """What does a message of 1 KB cost to read and to write, next to json-c?"""
    found = medians("codec", 3)
    for verb, bare in (("decode", "parse to a tree with json-c"), ("encode", "print a tree with json-c")):
        yield Row(f"codec: {verb} a message of 1 KB", found[verb], "µs", "", bare.replace(" with", ","), found[bare])
