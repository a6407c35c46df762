"""The directory from which TensorBoard reads what lies in checkpoint storages."""

import errno

import pytest

from determined import _storage
from determined._storage._objects import Found, ObjectStorage
from determined.exec import _mirror

STORED = "the-cluster/tensorboard/experiment/7"
EVENTS = "trial/11/events.out.tfevents.17.host"


class MemoryStorage(ObjectStorage):
    """An object store: keys and bytes in a dictionary. ``fetched`` lists what was asked for: name, first byte."""

    def __init__(self, url="memory://bucket"):
        super().__init__(url, None, None)
        self.objects, self.fetched, self.failures = {}, [], {}

    def put(self, name, content):
        self.objects[f"{STORED}/{name}"] = content

    def _get(self, key, path):
        self._note(key, 0)
        path.write_bytes(self.objects[key])

    def _get_rest(self, key, start, file):
        self._note(key, start)
        file.write(self.objects[key][start:])

    def _note(self, key, start):
        name = key[len(STORED) + 1 :]
        self.fetched.append((name, start))
        if self.failures.get(name):
            raise self.failures[name].pop(0)

    def _list(self, prefix):
        if self.failures.get("list"):
            raise self.failures["list"].pop(0)
        for key, content in self.objects.items():
            if key.startswith(prefix):
                yield Found(key, len(content), str(hash(content)))

    def _put(self, key, path):
        raise NotImplementedError

    _put_directory = _chunks = _remove = _put

    def _is_refusal(self, error):
        return isinstance(error, PermissionError)


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def mirror(storage, tmp_path):
    """Makes a mirror of one experiment, or of what is given."""

    def make(*more, limit=1 << 30):
        directory = tmp_path / "mirror"
        directory.mkdir()
        trees = [_mirror.Tree("experiment 7", storage, STORED, "experiment/7"), *more]
        return _mirror.Mirror(directory, trees, limit)

    return make


def shown(mirror):
    root = mirror.logdir / "experiment/7"
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_only_what_has_changed__is_fetched(storage, mirror):
    storage.put(EVENTS, b"12345")
    storage.put("trial/11/plugins/profile/host.xplane.pb", b"abc")
    m = mirror()
    assert not m.has_files()
    m.refresh()
    assert m.has_files()
    assert shown(m) == {EVENTS: b"12345", "trial/11/plugins/profile/host.xplane.pb": b"abc"}
    m.refresh()
    assert len(storage.fetched) == 2
    storage.put("trial/11/plugins/profile/host.xplane.pb", b"xyz")
    m.refresh()
    assert storage.fetched[2:] == [("trial/11/plugins/profile/host.xplane.pb", 0)]
    assert shown(m)["trial/11/plugins/profile/host.xplane.pb"] == b"xyz"


def test_of_an_event_file__only_what_is_new_is_fetched_and_the_file_stays_the_same_one(storage, mirror):
    storage.put(EVENTS, b"12345")
    m = mirror()
    m.refresh()
    before = (m.logdir / "experiment/7" / EVENTS).stat().st_ino
    storage.put(EVENTS, b"12345678")
    m.refresh()
    assert storage.fetched == [(EVENTS, 0), (EVENTS, 5)] and shown(m) == {EVENTS: b"12345678"}
    assert (m.logdir / "experiment/7" / EVENTS).stat().st_ino == before


def test_an_event_file_that_is_shorter_now__is_fetched_as_a_whole(storage, mirror):
    storage.put(EVENTS, b"12345")
    m = mirror()
    m.refresh()
    storage.put(EVENTS, b"abc")
    m.refresh()
    assert shown(m) == {EVENTS: b"abc"}


def test_what_could_not_be_fetched__is_tried_again_from_where_it_broke_off(storage, mirror, caplog):
    storage.put(EVENTS, b"12345")
    m = mirror()
    storage.failures[EVENTS] = [ConnectionError("reset by peer")]
    m.refresh()
    assert shown(m) == {} and f"the first is {STORED}/{EVENTS}: reset by peer" in caplog.text
    m.refresh()
    assert shown(m) == {EVENTS: b"12345"}


def test_event_files__come_before_others_where_the_disk_is_bounded(storage, mirror, caplog):
    storage.put("a/big.trace.json", b"x" * 100)
    storage.put(EVENTS, b"12345")
    storage.put("trial/12/events.out.tfevents.18.host", b"12345")
    m = mirror(limit=12)
    m.refresh()
    m.refresh()
    assert set(shown(m)) == {EVENTS, "trial/12/events.out.tfevents.18.host"}
    assert caplog.text.count("1 of TensorBoard's files are left out") == 1 and _mirror.DISK_VARIABLE in caplog.text
    storage.put(EVENTS, b"1234567")
    storage.put("trial/12/events.out.tfevents.18.host", b"12345678")
    m.refresh()
    assert shown(m)[EVENTS] == b"1234567" and len(shown(m)["trial/12/events.out.tfevents.18.host"]) == 5
    assert "2 of TensorBoard's files are left out" in caplog.text


def test_a_disk_that_is_full__is_told_once_and_what_is_there_stays(storage, mirror, caplog):
    storage.put("trial/11/a.trace.json", b"abc")
    storage.put(EVENTS, b"12345")
    full = OSError(errno.ENOSPC, "No space left on device")
    storage.failures["trial/11/a.trace.json"] = [full, full]
    m = mirror()
    m.refresh()
    m.refresh()
    assert shown(m) == {EVENTS: b"12345"} and caplog.text.count("there is no room left") == 1
    m.refresh()
    assert len(shown(m)) == 2


def test_a_storage_that_cannot_be_read__is_told_once_and_does_not_hide_the_others(storage, mirror, caplog):
    other = MemoryStorage("memory://other")
    other.objects["8/events.out.tfevents.1.host"] = b"1"
    storage.put(EVENTS, b"12345")
    storage.failures["list"] = [PermissionError("403"), PermissionError("403")]
    m = mirror(_mirror.Tree("experiment 8", other, "8", "experiment/8"))
    m.refresh()
    m.refresh()
    sentence = (
        "the TensorBoard files of experiment 7 cannot be read: no access to the checkpoint storage memory://bucket: 403"
    )
    assert caplog.text.count(sentence) == 1 and list(m.problems) == ["experiment 7"]
    assert (m.logdir / "experiment/8/events.out.tfevents.1.host").read_bytes() == b"1"
    m.refresh()
    assert m.problems == {} and shown(m) == {EVENTS: b"12345"}


def test_a_name_that_leads_out_of_the_mirror__is_refused(storage, mirror, tmp_path):
    storage.put("../../../../outside", b"x")
    m = mirror()
    m.refresh()
    assert "leads out" in m.problems["experiment 7"] and not list(tmp_path.rglob("outside"))


def test_a_directory__is_linked_to_and_not_copied(tmp_path):
    storage = _storage.DirectoryStorage(tmp_path / "storage")
    stored = storage.base_path / STORED
    stored.mkdir(parents=True)
    (tmp_path / "mirror").mkdir()
    m = _mirror.Mirror(tmp_path / "mirror", [_mirror.Tree("experiment 7", storage, STORED, "experiment/7")], 0)
    m.refresh()
    assert not m.has_files()
    (stored / "trial/11").mkdir(parents=True)
    (stored / EVENTS).write_bytes(b"12345")
    assert m.has_files() and shown(m) == {EVENTS: b"12345"}
    assert (m.logdir / "experiment/7" / EVENTS).samefile(stored / EVENTS)


def test_a_directory_that_is_not_there__is_told(tmp_path, caplog):
    storage = _storage.DirectoryStorage(tmp_path / "nowhere")
    (tmp_path / "mirror").mkdir()
    m = _mirror.Mirror(tmp_path / "mirror", [_mirror.Tree("experiment 7", storage, STORED, "experiment/7")], 0)
    m.refresh()
    assert f"of experiment 7, {tmp_path}/nowhere, does not exist on this machine" in caplog.text and m.problems == {}
    assert not m.has_files()
