"""Requests of an ordinary user in the most expensive forms that the limits of the API allow, and some beyond these limits. Each is a
name and a function that gets a `Victim` and returns (method, path, body as bytes). tests/attack/test_requests_that_hurt.py and
bench/ask_hostile.py use them."""
import base64
import contextlib
import json
import urllib.parse

MIB = 1024 * 1024
CREATE_MAX = 144 * MIB
LOGS_MAX = 24 * MIB  # contract/body-limits.json
SHAPES = {}


def shape(function):
    SHAPES[function.__name__.replace("_", " ")] = function
    return function


class Victim:
    """A master with objects that can be attacked: experiments, an unmanaged trial, checkpoints."""

    def __init__(self, cluster, experiments=200):
        self.cluster = cluster
        self.experiments = [cluster.create(activate=False) for _ in range(experiments)]
        made = cluster.post("/api/v1/experiments", {"config": "name: x\nsearcher: {name: single, metric: loss, max_length: 1}\n",
                                                    "unmanaged": True}).json
        self.unmanaged = made["experiment"]["id"]
        trial = cluster.post("/api/v1/trials", {"experimentId": self.unmanaged, "hparams": {}, "unmanaged": True}).json["trial"]
        self.trial, self.task = trial["id"], trial["taskId"]

    def config(self, **changes):
        return json.dumps(self.cluster.experiment_config(**changes))


def create(config, files=b"[]", validate=False, activate=False):
    head = json.dumps({"config": config, "validateOnly": validate, "activate": activate})[:-1]
    return "POST", "/api/v1/experiments", head.encode() + b', "modelDefinition": ' + files + b"}"


def numbers(n, first=1, step=1):
    return b"[" + b",".join(b"%d" % (first + i * step) for i in range(n)) + b"]"


def fill(head, item, tail, size):
    """Returns head, as many items with commas as fit into size bytes, and tail."""
    n = (size - len(head) - len(tail)) // (len(item) + 1)
    return head + b",".join([item] * n) + tail


# ---- configurations ----

@shape
def aliases_of_a_long_text(v):
    text = "name: x\ndata:\n  a: &a " + "x" * MIB + "\n  b:\n" + "  - *a\n" * 5000
    return create(text)


@shape
def aliases_of_aliases(v):
    lines = ["data:", "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 12)]
    return create("\n".join(lines))


@shape
def a_configuration_of_the_largest_size(v):
    return create(v.config(data={"text": "\"" * (500 * 1024)}))


@shape
def a_configuration_of_many_values(v):
    return create(v.config(data={"list": [1] * 99000}))


@shape
def a_configuration_of_many_names(v):
    return create(v.config(data={f"n{i}": i for i in range(60000)}))


@shape
def a_configuration_of_half_a_million_values(v):
    return create(v.config(data={"list": []}).replace('"list": []', '"list": [' + "1," * 500000 + "1]"))


@shape
def a_configuration_of_4_MB(v):
    return create(v.config(data={"text": "x" * (4 * MIB)}))


@shape
def a_configuration_of_100_MB(v):
    return create(v.config(data={"text": "x" * (100 * MIB)}))


@shape
def unknown_keys_without_end(v):
    return create("{" + ",".join(f"k{i}: 1" for i in range(90000)) + "}")


@shape
def wrong_values_with_long_paths(v):
    deep = {"type": "int"}
    for i in range(20):
        deep = {"x" * 90: deep}
    return create(v.config(hyperparameters={"g": deep, **{f"h{i}": {"type": "int", "minval": "x"} for i in range(5000)}}))


@shape
def a_million_values_of_a_hyperparameter(v):
    text = v.config(hyperparameters={"a": {"type": "categorical", "vals": []}})
    return create(text.replace('"vals": []', '"vals": [' + "1," * 500000 + "1]"))


@shape
def the_largest_hyperparameters_of_many_trials(v):
    return create(v.config(hyperparameters={"a": {"type": "int", "minval": 0, "maxval": 9}, "b": "x" * 100000},
                           searcher={"name": "random", "metric": "loss", "max_length": 1, "max_trials": 2000, "max_concurrent_trials": 2000}),
                  activate=True)


@shape
def a_search_that_begins_with_all_its_trials(v):
    return create(v.config(hyperparameters={"a": {"type": "int", "minval": 0, "maxval": 9}},
                           searcher={"name": "random", "metric": "loss", "max_length": 1, "max_trials": 100000, "max_concurrent_trials": 0}),
                  activate=True)


@shape
def a_search_that_begins_with_2000_trials(v):
    return create(v.config(hyperparameters={"a": {"type": "int", "minval": 0, "maxval": 9}},
                           searcher={"name": "random", "metric": "loss", "max_length": 1, "max_trials": 2000, "max_concurrent_trials": 2000}),
                  activate=True)


@shape
def a_grid_of_huge_counts(v):
    h = {f"h{i}": {"type": "double", "minval": 0, "maxval": 1, "count": 1000} for i in range(5)}
    return create(v.config(hyperparameters=h, searcher={"name": "grid", "metric": "loss", "max_length": 1}), activate=True)


@shape
def an_adaptive_search_of_two_billion_trials(v):
    return create(v.config(hyperparameters={"a": {"type": "int", "minval": 0, "maxval": 9}},
                           searcher={"name": "adaptive_asha", "metric": "loss", "max_length": {"batches": 1 << 50},
                                     "max_trials": 2**31 - 1, "max_rungs": 100, "mode": "conservative"}), activate=True)


@shape
def a_preview_of_a_huge_search(v):
    config = {"searcher": {"name": "adaptive_asha", "metric": "loss", "max_length": {"batches": 1 << 40}, "max_trials": 2**31 - 1,
                           "max_rungs": 100, "mode": "conservative", "max_concurrent_trials": 0},
              "hyperparameters": {"a": {"type": "int", "minval": 0, "maxval": 9}}}
    return "POST", "/api/v1/preview-hp-search", json.dumps({"config": config}).encode()


@shape
def policies_that_match_slowly(v):
    return create(v.config(log_policies=[{"name": f"p{i}", "pattern": "(((a{1,30}){1,30}){1,30})*" * 100 + "$"} for i in range(100)]))


@shape
def environment_variables_without_end(v):
    return create(v.config(environment={"environment_variables": [f"V{i}=x" for i in range(60000)]}))


@shape
def a_template_of_many_values(v):
    return "POST", "/api/v1/templates/t", b'{"name": "t", "config": {"data": {"l": [' + b"1," * 500000 + b"1]}}}"


# ---- files ----

@shape
def a_hundred_thousand_files(v):
    item = json.dumps({"path": "d/%07d", "type": 48, "content": "", "mtime": "0", "mode": 420}).encode()
    return create(v.config(), b"[" + b",".join(item.replace(b"%07d", b"%07d" % i) for i in range(100000)) + b"]")


@shape
def files_that_are_empty_objects(v):
    return create(v.config(), b"[" + b"{}," * (6 * MIB) + b"{}]")


@shape
def a_file_of_95_MiB(v):
    content = base64.b64encode(b"\0" * (95 * MIB))
    return create(v.config(), b'[{"path": "f", "type": 48, "content": "' + content + b'"}]')


# ---- other texts ----

@shape
def notes_of_a_megabyte(v):
    return "PATCH", f"/api/v1/experiments/{v.experiments[0]}", json.dumps({"notes": "x" * (MIB - 100)}).encode()


@shape
def labels_without_end(v):
    return "PATCH", f"/api/v1/experiments/{v.experiments[1]}", json.dumps({"labels": [""] * 250000}).encode()


@shape
def a_label_of_a_megabyte(v):
    return "PATCH", f"/api/v1/experiments/{v.experiments[2]}", json.dumps({"labels": ["x" * (MIB - 100)]}).encode()


@shape
def settings_of_a_user(v):
    return "POST", "/api/v1/users/setting", json.dumps({"settings": [{"key": f"k{i}", "value": "v", "storagePath": "p"} for i in range(15000)]}).encode()


@shape
def notes_of_a_project(v):
    return "PUT", "/api/v1/projects/1/notes", json.dumps({"notes": [{"name": "n", "contents": "c"} for i in range(25000)]}).encode()


@shape
def blanks(v):
    return "POST", "/api/v1/experiments-search", b" " * (MIB - 10) + b"{}"


@shape
def brackets(v):
    return "POST", "/api/v1/experiments-search", b"[" * (MIB - 10)


# ---- lists of ids ----

def bulk(v, action, ids):
    return "POST", f"/api/v1/projects/1/experiments/{action}", b'{"projectId": 1, "experimentIds": ' + ids + b"}"


@shape
def kill_ten_thousand_ids(v):
    return bulk(v, "kill", numbers(10000))


@shape
def pause_one_experiment_ten_thousand_times(v):
    return bulk(v, "pause", numbers(10000, v.experiments[0], 0))


@shape
def activate_one_experiment_ten_thousand_times(v):
    return bulk(v, "activate", numbers(10000, v.experiments[0], 0))


@shape
def archive_ten_thousand_ids(v):
    return bulk(v, "archive", numbers(10000))


@shape
def delete_ten_thousand_ids(v):
    return "DELETE", "/api/v1/projects/1/experiments/delete", b'{"projectId": 1, "experimentIds": ' + numbers(10000, 10**6) + b"}"


@shape
def kill_a_million_ids(v):
    return bulk(v, "kill", b"[" + b"7," * 520000 + b"7]")


@shape
def kill_twenty_million_ids(v):
    return bulk(v, "kill", b"[" + b"7," * 20000000 + b"7]")


@shape
def kill_ten_thousand_runs(v):
    return "POST", "/api/v1/runs/kill", b'{"projectId": 1, "runIds": ' + numbers(10000) + b"}"


@shape
def pause_ten_thousand_runs(v):
    return "POST", "/api/v1/runs/pause", b'{"projectId": 1, "runIds": ' + numbers(10000) + b"}"


@shape
def move_ten_thousand_runs(v):
    return "POST", "/api/v1/runs/move", b'{"sourceProjectId": 1, "destinationProjectId": 1, "runIds": ' + numbers(10000) + b"}"


@shape
def delete_ten_thousand_checkpoints(v):
    ids = json.dumps([f"{i:08x}-0000-0000-0000-000000000000" for i in range(10000)]).encode()
    return "DELETE", "/api/v1/checkpoints", b'{"checkpointUuids": ' + ids + b"}"


@shape
def ten_thousand_globs(v):
    uuids = json.dumps([f"{i:08x}-0000-0000-0000-000000000000" for i in range(10000)]).encode()
    return "POST", "/api/v1/checkpoints/rm", b'{"checkpointUuids": ' + uuids + b', "checkpointGlobs": ' + json.dumps(["*" * 30] * 10000).encode() + b"}"


@shape
def a_queue_moved_ten_thousand_times(v):
    job = v.cluster.experiment(v.experiments[0])["jobId"]
    return "POST", "/api/v1/job-queues", fill(b'{"updates": [', b'{"jobId": "' + job.encode() + b'", "priority": 7}', b"]}", MIB)


# ---- searches ----

@shape
def a_filter_that_nests_deeply(v):
    inner = {"kind": "field", "columnName": "name", "operator": "=", "value": "x", "location": "LOCATION_TYPE_EXPERIMENT", "type": "COLUMN_TYPE_TEXT"}
    for _ in range(45):
        inner = {"kind": "group", "conjunction": "and", "children": [inner]}
    return "POST", "/api/v1/experiments-search", json.dumps({"filter": json.dumps({"filterGroup": inner, "showArchived": False})}).encode()


@shape
def a_filter_of_many_conditions(v):
    one = {"kind": "field", "columnName": "name", "operator": "contains", "value": "xyz", "location": "LOCATION_TYPE_EXPERIMENT", "type": "COLUMN_TYPE_TEXT"}
    group = {"kind": "group", "conjunction": "or", "children": [one] * 4000}
    return "POST", "/api/v1/experiments-search", json.dumps({"filter": json.dumps({"filterGroup": group, "showArchived": True})}).encode()


@shape
def a_sort_of_many_columns(v):
    return "POST", "/api/v1/experiments-search", json.dumps({"sort": ",".join(["name=asc"] * 50000)}).encode()


@shape
def a_list_of_all(v):
    return "GET", "/api/v1/experiments?limit=-1", None


@shape
def a_query_of_many_states(v):
    return "GET", "/api/v1/experiments?" + "&".join(["states=STATE_ACTIVE"] * 2800), None


@shape
def a_regular_expression_that_backtracks(v):
    return "GET", "/api/v1/experiments?name=" + urllib.parse.quote("(a+)+" * 3000), None


# ---- reports of tasks ----

def report(v, metrics):
    head = {"trialId": v.trial, "trialRunId": 0, "stepsCompleted": 1}
    return ("POST", f"/api/v1/trials/{v.trial}/metrics",
            json.dumps({"group": "training", "metrics": head})[:-2].encode() + b', "metrics": {"avgMetrics": ' + metrics + b"}}}")


@shape
def a_report_of_many_metrics(v):
    return report(v, b"{" + b",".join(b'"m%d":1' % i for i in range(250000)) + b"}")


@shape
def a_report_of_long_names(v):
    return report(v, b"{" + b",".join(b'"%s%d":1' % (b"m" * 100000, i) for i in range(38)) + b"}")


@shape
def a_report_of_a_deep_value(v):
    return report(v, b'{"a":' + b"[" * 90 + b"]" * 90 + b"}")


@shape
def a_report_of_a_large_list(v):
    return report(v, b'{"a":[' + b"1," * 2000000 + b"1]}")


@shape
def lines_of_a_log_that_are_empty_objects(v):
    return "POST", "/api/v1/task/logs", b'{"logs": [' + b"{}," * (LOGS_MAX // 4) + b"{}]}"


@shape
def a_log_of_the_largest_size(v):
    line = json.dumps({"taskId": v.task, "log": "x" * 1600 + "\n"}).encode()
    return "POST", "/api/v1/task/logs", fill(b'{"logs": [', line, b"]}", LOGS_MAX - 100)


@shape
def lines_of_a_log_without_end(v):
    line = json.dumps({"taskId": v.task, "log": "x\n"}).encode()
    return "POST", "/api/v1/task/logs", fill(b'{"logs": [', line, b"]}", LOGS_MAX - 100)


@shape
def a_log_of_the_largest_size_in_the_older_form(v):
    line = json.dumps({"taskId": v.task, "log": "x" * 1600 + "\n"}).encode()
    return "POST", "/task-logs", fill(b"[", line, b"]", LOGS_MAX - 100)


@shape
def one_line_of_a_log(v):
    return "POST", "/api/v1/task/logs", json.dumps({"logs": [{"taskId": v.task, "log": "x" * (LOGS_MAX - MIB)}]}).encode()


@shape
def a_checkpoint_of_many_files(v):
    files = b"{" + b",".join(b'"f%d":"1"' % i for i in range(99000)) + b"}"
    return ("POST", "/api/v1/checkpoints", b'{"uuid": "00000000-0000-4000-8000-000000000001", "taskId": "' + v.task.encode() + b'", "resources": ' + files + b', "metadata": {"steps_completed": 1}}')


@shape
def a_checkpoint_of_many_long_names(v):
    files = b"{" + b",".join(b'"%s%d":"1"' % (b"f" * 145, i) for i in range(99000)) + b"}"
    return ("POST", "/api/v1/checkpoints",
            b'{"uuid": "00000000-0000-4000-8000-000000000002", "taskId": "' + v.task.encode() + b'", "resources": ' + files +
            b', "metadata": {"steps_completed": 1}}')


@shape
def a_checkpoint_of_a_million_files(v):
    files = b"{" + b",".join(b'"f%d":"1"' % i for i in range(1000000)) + b"}"
    return ("POST", "/api/v1/checkpoints", b'{"uuid": "00000000-0000-4000-8000-000000000001", "taskId": "' + v.task.encode() + b'", "resources": ' + files + b', "metadata": {"steps_completed": 1}}')


@shape
def hyperparameters_of_an_unmanaged_trial(v):
    return ("POST", "/api/v1/trials", b'{"experimentId": %d, "unmanaged": true, "hparams": {"a": [' % v.unmanaged + b"1," * 500000 + b"1]}}")


@shape
def metadata_of_a_run(v):
    return "POST", f"/api/v1/runs/{v.trial}/metadata", b'{"metadata": {' + b",".join(b'"k%d": {"a": 1}' % i for i in range(50000)) + b"}}"


@shape
def a_batch_of_many_profiles(v):
    one = (b'{"values": [1,1,1,1,1,1,1,1], "batches": [1,1,1,1,1,1,1,1], "timestamps": [], '
           b'"labels": {"trialId": %d, "name": "n", "metricType": "PROFILER_METRIC_TYPE_SYSTEM"}}' % v.trial)
    return "POST", "/api/v1/trials/profiler/metrics", fill(b'{"batches": [', one, b"]}", 4 * MIB - 100)


def carry_out(victim, name, timeout=600):
    """Sends the request and returns the reply, or None if the master closed the connection."""
    method, path, body = SHAPES[name](victim)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        return victim.cluster.request(method, path, raw=body, headers={"Content-Type": "application/json"}, timeout=timeout)
    return None
