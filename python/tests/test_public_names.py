"""Every public name of the published library is here, or stands in a table with the reason why it is not.

Names are read from the sources, without importing them: some of the published modules need frameworks of years ago.
Signatures are the matter of test_signatures.py.
"""

import ast
import pathlib

import pytest

import determined

# Modules of the published library that nobody needs here, with all below them.
ABSENT_MODULES = {
    "determined.cli": "the client is a program of its own; python3 -m determined.cli starts it",
    "determined.deploy": "clusters are started by det deploy local and by packages",
    "determined.exec.prep_container": "the agent prepares tasks",
    "determined.exec.tensorboard": "tasks of TensorBoard come later",
    "determined.common.api.analytics": "nothing is sent to anybody",
    "determined.common.api.metric": "a type of the published client",
    "determined.common.check": "helpers of the library's own code",
    "determined.common.constants": "helpers of the library's own code",
    "determined.common.context": "det packs model directories",
    "determined.common.detignore": "det packs model directories",
    "determined.common.detlomond": "WebSockets of the published client",
    "determined.common.experimental": "determined.experimental.client has all classes",
    "determined.common.storage": "core_context.checkpoint is the way to checkpoint storage",
    "determined.common.streams": "the master's stream of updates comes later",
    "determined.common.util": "helpers of the library's own code",
    "determined.common.v1file_utils": "det packs model directories",
    "determined.constants": "numbers of the library's own code",
    "determined.gpu": "the agent knows the GPUs; cluster info has their UUIDs",
    "determined.horovod": "launchers are programs: python3 -m determined.launch.horovod",
    "determined.ipc": "the library's own protocol between processes",
    "determined.layers": "the library's own loop",
    "determined.load": "the library's own way to import trial classes",
    "determined.tensorboard.azure": "the core context uploads event files",
    "determined.tensorboard.base": "the core context uploads event files",
    "determined.tensorboard.build": "determined.tensorboard has its functions",
    "determined.tensorboard.directory": "the core context uploads event files",
    "determined.tensorboard.fetchers": "tasks of TensorBoard come later",
    "determined.tensorboard.gcs": "the core context uploads event files",
    "determined.tensorboard.s3": "the core context uploads event files",
    "determined.tensorboard.shared": "the core context uploads event files",
    "determined.tensorboard.util": "the core context uploads event files",
    "determined.util": "helpers of the library's own code",
    "determined.workload": "the library's own loop",
}
PRESENT_IN_THEM = {"determined.common.experimental"}

LAUNCHERS = "launchers are programs; their functions are their own matter"
OWN = "of the library's own code"
ABSENT = {
    "determined": {"EnvContext": OWN, "TrialController": OWN, "util": OWN},
    "determined.common": {name: OWN for name in ("check", "constants", "context", "set_logger", "storage", "util")},
    "determined.common.api": {
        name: "commands of the published client"
        for name in (
            "create_group_assignment_request",
            "create_user_assignment_request",
            "group_name_to_group_id",
            "metric",
            "not_found_errs",
            "role_name_to_role_id",
            "usernames_to_user_ids",
            "workspace_by_name",
        )
    },
    "determined.common.api.authentication": {
        name: "older forms of the file of logins, which det rewrites"
        for name in (
            "PASSWORD_SALT",
            "default_load_user_password",
            "precanonicalize_v1_url",
            "shim_store_v0",
            "shim_store_v1",
            "validate_dict_of_masters",
            "validate_one_master_entry",
            "validate_token_store_v0",
            "validate_token_store_v1",
            "validate_token_store_v2",
            "warn_about_complexity",
        )
    },
    # Made when they are asked for, so the source does not show them; test_bindings.py compares each.
    "determined.common.api.bindings": "test_bindings.py",
    "determined.common.api.certs": {
        name: "det keeps the file of trusted certificates"
        for name in ("CertStore", "default_store", "maybe_shim_old_cert_store")
    },
    "determined.errors": {
        "CheckpointStateException": OWN,
        "EnterpriseOnlyError": "there is no such edition",
        "InternalException": OWN,
        "MultipleDownloadsFailed": OWN,
        "ProxiedDownloadFailed": OWN,
        "SkipWorkloadException": OWN,
        "StopLoadingImplementation": OWN,
        "WorkerError": OWN,
        "WorkerFinishedGracefully": OWN,
    },
    "determined.exec.gc_checkpoints": LAUNCHERS,
    "determined.exec.harness": LAUNCHERS,
    "determined.exec.launch": LAUNCHERS,
    "determined.exec.pid_client": LAUNCHERS,
    "determined.exec.pid_server": LAUNCHERS,
    "determined.experimental": {name: "a module of the former place" for name in ("checkpoint", "metrics", "model")},
    "determined.experimental.client": {"C": "a type variable"},
    "determined.keras": {
        "TFKerasTrainConfig": OWN,
        "get_rng_state": "checkpoints of a trial hold random numbers",
        "set_rng_state": "checkpoints of a trial hold random numbers",
    },
    "determined.launch.deepspeed": LAUNCHERS,
    "determined.launch.horovod": LAUNCHERS,
    "determined.launch.tensorflow": LAUNCHERS,
    "determined.launch.torch_distributed": LAUNCHERS,
    "determined.launch.wrap_rank": LAUNCHERS,
    "determined.tensorboard": {
        "AzureTensorboardManager": "the core context uploads event files",
        "S3TensorboardManager": "the core context uploads event files",
        "SharedFSTensorboardManager": "the core context uploads event files",
        "TensorboardManager": "the core context uploads event files",
        "build": "the core context uploads event files",
    },
}


def defined(node, of_package):
    """Names that a statement at the top of a module defines for others."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.ImportFrom) and of_package and (node.module or "").startswith("determined"):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, (ast.With, ast.Try, ast.If)):
        for inner in node.body:
            yield from defined(inner, of_package)


def listed(tree):
    """What ``__all__`` names."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            yield from (e.value for e in ast.walk(node.value) if isinstance(e, ast.Constant))


def names_of(package):
    """Module → its public names, of a package's directory."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if any(part.startswith("_") for part in parts):
            continue
        tree = ast.parse(file.read_text())
        names = {name for node in tree.body for name in defined(node, file.name == "__init__.py")} | set(listed(tree))
        found[".".join(parts)] = {name for name in names if not name.startswith("_")} - {"logger"}
    return found


@pytest.fixture(scope="module")
def published(published_python, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")  # where no other library of that name lies
    show = "import determined; print(determined.__path__[0])"
    return names_of(pathlib.Path(published_python("-c", show, cwd=elsewhere)))


@pytest.fixture(scope="module")
def ours():
    return names_of(pathlib.Path(determined.__path__[0]))


def reason_for_module(module):
    parts = module.split(".")
    above = (".".join(parts[:n]) for n in range(len(parts), 1, -1))
    return None if module in PRESENT_IN_THEM else next((m for m in above if m in ABSENT_MODULES), None)


def test_each_public_module__is_here_or_in_the_table(published, ours):
    missing = [m for m in published if m not in ours and reason_for_module(m) is None]
    assert missing == []
    reasons = {reason_for_module(m) for m in published}
    assert set(ABSENT_MODULES) <= reasons, "modules in the table that the published library does not have"


def test_each_public_name__is_here_or_in_the_table(published, ours):
    missing = []
    for module in ours:  # a module is a name of its package, whether the package imports it or not
        package, _, name = module.rpartition(".")
        if package in ours:
            ours[package].add(name)
    for module in sorted(m for m in published if m in ours and reason_for_module(m) is None):
        absent = ABSENT.get(module, {})
        if not isinstance(absent, str):
            missing += [f"{module}.{name}" for name in sorted(published[module] - ours[module] - set(absent))]
    assert missing == []


def test_the_table_of_names__holds_nothing_that_is_here(published, ours):
    idle = []
    for module, names in ABSENT.items():
        if isinstance(names, dict):
            idle += [f"{module}.{n}" for n in names if n in ours.get(module, ()) or n not in published[module]]
    assert idle == []
