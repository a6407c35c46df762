#!/usr/bin/env python3
"""The contract's tables, their generator, the count of served routes, and the checker of replies.

usage: test_contract.py WIRE_DUMP   (the program that prints an empty message of each kind as C encodes it)
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
from contract_check import Contract  # noqa: E402

WIRE_DUMP = None


def load_tool(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


generator = load_tool("gen-contract")


def small_contract():
    """A valid contract with one of each thing."""
    return {
        "api.json": {
            "routes": [{"rpc": "GetThing", "method": "GET", "path": "/api/v1/things/{id}", "tier": "A", "group": "Things",
                        "req": "api.v1.GetThingRequest", "resp": "thing.v1.Thing"}],
            "messages": {
                "api.v1.GetThingRequest": {"fields": [{"j": "id", "t": "int32", "num": 1}]},
                "thing.v1.Thing": {"fields": [
                    {"j": "state", "t": "enum:thing.v1.State", "num": 1, "req": 1},
                    {"j": "register", "t": "bool", "num": 2, "opt": 1},
                    {"j": "partOf", "p": "part_of", "t": "msg:thing.v1.Thing", "num": 3},
                    {"j": "counts", "t": "map<string,int64>", "num": 4}]},
            },
            "enums": {"thing.v1.State": {"values": {"STATE_UNSPECIFIED": 0, "STATE_OLD": 1}},
                      "rbac.v1.PermissionType": {"values": {"PERMISSION_TYPE_UNSPECIFIED": 0, "PERMISSION_TYPE_LOOK": 1, "PERMISSION_TYPE_RULE": 2}}},
        },
        "link.json": {"messages": {}, "enums": {}},
        "served.json": {"GetThing": {"run": "loop", "person": "read", "task": "no", "permission": "look"}},
        "body-limits.json": {"default": 1000, "routes": {}},
        "permissions.json": {"look": {"id": 1, "name": "look at it", "workspace": True}, "rule": {"id": 2, "name": "rule it", "workspace": False}},
        "roles.json": {"Ruler": {"id": 2, "permissions": "all"}, "Guest": {"id": 1, "permissions": ["look"]}},
    }


def generate(tables):
    """The generated files by name; raises ContractError."""
    with tempfile.TemporaryDirectory() as directory:
        for name, table in tables.items():
            text = table if isinstance(table, str) else json.dumps(table)
            (pathlib.Path(directory) / name).write_text(text)
        contract = generator.load_contract(pathlib.Path(directory))
    return {name: render(contract) for name, render in generator.OUTPUTS.items()}


class Permissions(unittest.TestCase):
    def test_a_role_is_a_set_of_bits_and_of_a_workspace_if_all_its_permissions_are(self):
        out = generate(small_contract())
        self.assertIn("enum permission {\n    PERMISSION_LOOK,\n    PERMISSION_RULE,\n    PERMISSIONS_N,\n};", out["permissions.h"])
        self.assertIn('{ROLE_GUEST, "Guest", UINT64_C(0x1), true},\n    {ROLE_RULER, "Ruler", UINT64_C(0x3), false},', out["permissions.c"])

    def test_faults_in_the_tables_are_named(self):
        for file, row, change, said in (("roles.json", "Guest", {"permissions": ["fly"]}, "'fly' is no permission"),
                                        ("roles.json", "Guest", {"permissions": ["look", "look"]}, "stands there twice"),
                                        ("roles.json", "Guest", {"id": 2}, "two rows have the same id"),
                                        ("permissions.json", "look", {"id": 3}, "are not those of rbac.v1.PermissionType"),
                                        ("served.json", "GetThing", {"permission": "fly"}, "'fly' is no permission of permissions.json"),
                                        ("served.json", "GetThing", {"permission": "look:moon@id"}, "unknown place 'moon'"),
                                        ("served.json", "GetThing", {"permission": "look:project@none"}, "is no field of"),
                                        ("served.json", "GetThing", {"permission": None}, "is not of the form NAME")):
            tables = small_contract()
            tables[file][row] |= change
            with self.assertRaisesRegex(generator.ContractError, said):
                generate(tables)

    def test_a_row_without_a_permission_is_refused(self):
        tables = small_contract()
        del tables["served.json"]["GetThing"]["permission"]
        with self.assertRaisesRegex(generator.ContractError, "permission is missing"):
            generate(tables)


class GeneratedNames(unittest.TestCase):
    def test_packages_are_dropped_where_the_name_repeats_them(self):
        for name, c in {"api.v1.LoginRequest": "login_request", "experiment.v1.Experiment": "experiment",
                        "experiment.v1.State": "experiment_state", "agent.v1.Slot": "agent_slot",
                        "log.v1.LogLevel": "log_level", "task.v1.ResourcesSummary.Devices": "task_resources_summary_devices",
                        "api.v1.GetHPImportanceRequest": "get_hp_importance_request"}.items():
            self.assertEqual(generator.c_identifier(name), c)

    def test_structs_enums_and_tables(self):
        out = generate(small_contract())
        self.assertIn("struct wire_thing {\n    enum wire_thing_state state;\n    bool register_;\n    bool has_register_;\n"
                      "    const struct wire_thing *part_of;\n    struct wire_map_int64 *counts;\n    size_t counts_n;\n};",
                      out["wire.h"])
        self.assertIn("WIRE_THING_STATE_OLD = 1,", out["wire.h"])
        self.assertIn('{"partOf", "part_of", CODEC_MESSAGE, 0, offsetof(struct wire_thing, part_of), 0, &wire_msg_thing,',
                      out["wire.c"])
        self.assertIn("int api_get_thing(struct req *r, struct core *core, const struct wire_get_thing_request *in, struct wire_thing *ret, "
                      "struct error *err);", out["handlers.h"])

    def test_handlers_are_given_what_their_place_may_touch(self):
        for run, given in {"loop": "struct core *core, ", "read": "struct store *db, ", "lookup": "struct store *db, ",
                           "write": "struct store *db, ", "work": ""}.items():
            tables = small_contract()
            tables["served.json"]["GetThing"]["run"] = run
            self.assertIn(f"int api_get_thing(struct req *r, {given}const struct wire_get_thing_request *in", generate(tables)["handlers.h"])

    def test_streams_get_no_return_struct(self):
        tables = small_contract()
        tables["api.json"]["routes"][0]["stream"] = True
        tables["served.json"]["GetThing"]["run"] = "stream"
        self.assertIn("int api_get_thing(struct req *r, struct core *core, const struct wire_get_thing_request *in, struct error *err);",
                      generate(tables)["handlers.h"])

    def test_rules_become_rows(self):
        tables = small_contract()
        tables["served.json"]["GetThing"]["task"] = "own:trial"
        self.assertIn("[ROUTE_ID_GET_THING] = {.person = {ACCESS_READ}, .user_token = {ACCESS_READ}, .admin = {ACCESS_READ}, "
                      '.task = {ACCESS_OWN, ACCESS_OBJECT_TRIAL, false, "id"}, '
                      ".need = {{ACCESS_IN_CLUSTER, PERMISSION_LOOK, PERMISSION_LOOK, ACCESS_OBJECT_NONE, false, NULL}}, .need_n = 1, "
                      ".scope = ACCESS_SCOPE_READ},",
                      generate(tables)["handlers.c"])

    def test_a_route_that_is_not_for_looking_needs_the_whole_scope_unless_it_says_less(self):
        tables = small_contract()
        row = tables["served.json"]["GetThing"]
        row |= {"person": "any", "task": "no", "permission": "none"}
        self.assertIn(".scope = ACCESS_SCOPE_ALL}", generate(tables)["handlers.c"])
        for scope in ("read", "submit", "login"):
            row["scope"] = scope
            self.assertIn(f".scope = ACCESS_SCOPE_{scope.upper()}}}", generate(tables)["handlers.c"])

    def test_same_input_same_output(self):
        tables = {name: (ROOT / "contract" / name).read_text() for name in small_contract()}
        self.assertEqual(generate(tables), generate(tables))


class BadTables(unittest.TestCase):
    def assert_refused(self, text, change):
        tables = small_contract()
        change(tables)
        with self.assertRaises(generator.ContractError) as caught:
            generate(tables)
        self.assertEqual(str(caught.exception), text)

    def test_unknown_type(self):
        def change(t):
            t["api.json"]["messages"]["thing.v1.Thing"]["fields"][1]["t"] = "boolean"
        self.assert_refused("thing.v1.Thing.register: unknown type 'boolean'", change)

    def test_unknown_message(self):
        def change(t):
            t["api.json"]["messages"]["thing.v1.Thing"]["fields"][2]["t"] = "msg:thing.v1.Part"
        self.assert_refused("thing.v1.Thing.partOf: unknown type 'msg:thing.v1.Part'", change)

    def test_duplicate_key_in_the_text(self):
        def change(t):
            t["link.json"] = '{"messages": {"a.v1.B": {}, "a.v1.B": {}}, "enums": {}}'
        self.assert_refused("link.json: a.v1.B: duplicate name", change)

    def test_duplicate_across_files(self):
        def change(t):
            t["link.json"]["messages"]["thing.v1.Thing"] = {}
        self.assert_refused("thing.v1.Thing: duplicate name", change)

    def test_two_names_with_the_same_c_name(self):
        def change(t):
            t["link.json"]["messages"]["api.v1.Thing"] = {}
        self.assert_refused("api.v1.Thing: duplicate name: thing.v1.Thing is wire_thing, too", change)

    def test_duplicate_field(self):
        def change(t):
            t["api.json"]["messages"]["thing.v1.Thing"]["fields"].append({"j": "part_of", "t": "string", "num": 9})
        self.assert_refused("thing.v1.Thing.part_of: duplicate name 'part_of'", change)

    def test_field_that_clashes_with_a_presence_member(self):
        def change(t):
            t["api.json"]["messages"]["thing.v1.Thing"]["fields"].append({"j": "counts_n", "t": "string", "num": 9})
        self.assert_refused("thing.v1.Thing.counts_n: duplicate name 'counts_n'", change)

    def test_unknown_key_of_a_field(self):
        def change(t):
            t["api.json"]["messages"]["thing.v1.Thing"]["fields"][0]["repeated"] = 1
        self.assert_refused("thing.v1.Thing.state: unknown key 'repeated'", change)

    def test_optional_list(self):
        def change(t):
            t["api.json"]["messages"]["thing.v1.Thing"]["fields"][1]["rep"] = 1
        self.assert_refused("thing.v1.Thing.register: a list or map can be neither optional nor both", change)

    def test_served_route_that_does_not_exist(self):
        def change(t):
            t["served.json"]["GetThings"] = {"run": "loop", "person": "read", "task": "no", "permission": "none"}
        self.assert_refused("served.json: 'GetThings' is no route of api.json", change)

    def test_body_limit_of_a_route_without_a_body(self):
        def change(t):
            t["body-limits.json"]["routes"]["GetThing"] = 5
        self.assert_refused("body-limits.json: 'GetThing' is no route with a body in api.json", change)

    def test_unknown_kind(self):
        def change(t):
            t["served.json"]["GetThing"]["run"] = "fast"
        self.assert_refused("route GetThing: unknown kind 'fast', known are loop, read, lookup, write, work, stream", change)

    def test_kind_that_does_not_fit_a_stream(self):
        def change(t):
            t["api.json"]["routes"][0]["stream"] = True
        self.assert_refused("route GetThing: kind 'loop' does not fit: the route streams", change)

    def assert_row_refused(self, text, row, route="route GetThing: "):
        self.assert_refused(route + text, lambda t: t["served.json"].update({"GetThing": row}))

    def test_a_route_without_a_rule_for_each_credential(self):
        self.assert_row_refused("'loop' is not an object: give run, person, task", "loop")
        self.assert_row_refused("what may person and task do? The row has no rule for it", {"run": "loop"})
        self.assert_row_refused("what may task do? The row has no rule for it", {"run": "loop", "person": "read"})
        self.assert_row_refused("person is 'own:trial': the row needs a rule for admin",
                                {"run": "loop", "person": "own:trial", "task": "no"})

    def test_a_word_that_nobody_knows(self):
        known = ("no, open, read, any, admin, own:OBJECT, owner:OBJECT, owner-always:OBJECT, each:OBJECT, each-always:OBJECT")
        for person in ("reads", "owner", "read:trial"):
            self.assert_row_refused(f"person: unknown word {person!r}, known are {known}",
                                    {"run": "loop", "person": person, "task": "no"})
        self.assert_row_refused("unknown key 'persons'", {"run": "loop", "person": "read", "task": "no", "persons": "no"})
        self.assert_row_refused("person: 'Owner' is not of the form WORD or WORD:OBJECT",
                                {"run": "loop", "person": "Owner", "task": "no"})
        self.assert_row_refused("person: 'open' does not fit: without credentials a route is open or not",
                                {"run": "loop", "person": "open", "task": "no"})

    def test_an_object_that_cannot_be_found(self):
        row = {"run": "loop", "person": "read", "task": "own:task", "permission": "none"}
        self.assert_row_refused("'own:task': 'id' is no field of api.v1.GetThingRequest that is the id of a task", row)
        row["task"] = "own:trial@trialId"
        self.assert_row_refused("'own:trial@trialId': 'trialId' is no field of api.v1.GetThingRequest that is the id of a trial", row)
        row["task"] = "own:thing"
        self.assert_row_refused("task: unknown object 'thing', known are " + ", ".join(generator.OBJECTS), row)

    def test_what_is_open_here_and_closed_there(self):
        self.assert_row_refused("api.json says that it is not open without credentials, served.json the opposite",
                                {"run": "loop", "none": "open", "permission": "none"})

    def test_what_an_admin_may(self):
        text = 'admin_may (what "only an admin may …" is followed by) belongs to routes for admins, and to no other'
        self.assert_row_refused(text, {"run": "loop", "person": "admin", "task": "no"})
        self.assert_row_refused(text, {"run": "loop", "person": "read", "task": "no", "admin_may": "look"})

    def test_routes_outside_the_api(self):
        def refused(text, row):
            self.assert_refused(f"served.json: GET /x: {text}", lambda t: t["served.json"].update({"GET /x": row}))
        refused("what may person and task do? The row has no rule for it", {"run": "loop"})
        refused("handler (raw_NAME) and what (one sentence) are needed", {"run": "loop", "person": "read", "task": "no", "permission": "none"})
        refused("'owner:trial': outside the API only each and each-always can be judged",
                {"run": "loop", "person": "owner:trial", "task": "no", "permission": "none", "handler": "raw_x", "what": "X."})

    def test_path_parameter_that_is_no_field(self):
        def change(t):
            t["api.json"]["routes"][0]["path"] = "/api/v1/things/{thingId}"
        self.assert_refused("route GetThing: path parameter 'thingId' is no plain field of api.v1.GetThingRequest", change)

    def test_body_that_is_no_field(self):
        def change(t):
            t["api.json"]["routes"][0]["body"] = "thing"
        self.assert_refused("route GetThing: body 'thing' is no field of api.v1.GetThingRequest", change)

    def test_broken_json_names_the_file(self):
        def change(t):
            t["served.json"] = '{"GetThing": }'
        self.assert_refused("served.json: Expecting value: line 1 column 14 (char 13)", change)

    def test_command_exits_with_the_fault(self):
        with tempfile.TemporaryDirectory() as directory:
            run = subprocess.run([sys.executable, ROOT / "tools/gen-contract", directory, directory], capture_output=True,
                                 text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"^gen-contract: api.json: .*No such file")


class Link(unittest.TestCase):
    def test_the_page_of_the_link_explains_each_message(self):
        page = (ROOT / "docs/spec/link.md").read_text()
        tables = json.loads((ROOT / "contract/link.json").read_text())
        self.assertEqual([], [name for name in tables["messages"] if not re.search(rf"\b{name.rsplit('.', 1)[-1]}\b", page)])
        self.assertEqual([], [name for name in tables["enums"] if not re.search(rf"\b{name.rsplit('.', 1)[-1]}\b", page)])
        self.assertIn("docs/spec/link.md", tables["about"])


class Status(unittest.TestCase):
    def test_ends_with_a_line_per_tier_that_counts_served_routes(self):
        out = io.StringIO()
        status = load_tool("contract-status")
        with contextlib.redirect_stdout(out):
            status.main(["--list"])
        lines = out.getvalue().splitlines()
        contract = Contract()
        self.assertEqual(len(lines), len(contract.routes) + 4)
        for tier, line in zip("ABCD", lines[-4:]):
            names = [rpc for rpc, row in contract.routes.items() if row["tier"] == tier]
            served = sum(rpc in contract.served for rpc in names)
            self.assertEqual(line, f"tier {tier}: {served} of {len(names)}")
            self.assertEqual(sum(f"{tier}  served" in row for row in lines[:-4]), served)

    def test_the_contract_has_its_284_routes(self):
        self.assertEqual(len(Contract().routes), 284)

    def test_each_handler_in_src_api_has_a_row(self):
        declared = {route.function for route in generator.load_contract(ROOT / "contract").served()}
        for path in sorted((ROOT / "src/api").rglob("*.c")):
            for name in re.findall(r"^int (api_\w+)\(struct req \*", path.read_text(), re.M):
                self.assertIn(name, declared, f"{path.name}: {name}() has no row in contract/served.json")


class Replies(unittest.TestCase):
    """The checker in Python and the encoder in C know the contract independently of each other."""

    contract = Contract()

    def faults(self, message, value):
        return list(self.contract.faults(message, value))

    def test_the_encoder_keeps_the_contract_for_each_empty_message(self):
        lines = subprocess.run([WIRE_DUMP], capture_output=True, text=True, check=True).stdout.splitlines()
        seen = set()
        for line in lines:
            name, text = line.split(" ", 1)
            seen.add(name)
            if name in self.contract.messages:  # all but the built-in FieldMask
                nulls = [f for f in self.faults(name, json.loads(text)) if not f.endswith(": is null")]
                self.assertEqual(nulls, [], name)
        self.assertEqual(self.contract.messages.keys() - seen, set())

    def test_faults_are_named_by_path(self):
        user = {"id": 0, "username": "", "admin": False, "active": 1, "agentUserGroup": {"agentUid": "0"}, "displayName": None,
                "modifiedAt": "yesterday", "remote": False, "extra": 1}
        self.assertEqual(self.faults("user.v1.User", user), [
            "extra: user.v1.User has no such field",
            "active: expected bool, found 1",
            "agentUserGroup.agentUid: expected int32, found '0'",
            "displayName: is null",
            "modifiedAt: expected wkt:Timestamp, found 'yesterday'"])
        del user["extra"], user["username"]
        self.assertIn("username: is missing", self.faults("user.v1.User", user))

    def test_required_messages_enums_order_and_maps(self):
        reply = {"pagination": None, "experiments": []}
        self.assertEqual(self.faults("api.v1.GetExperimentsResponse", reply), [
            "reply: fields are not in the order of api.v1.GetExperimentsResponse", "pagination: is null"])
        checkpoint = {"taskId": "", "uuid": "", "reportTime": None, "resources": {"b": "1", "a": 2}, "metadata": {},
                      "state": "COMPLETED", "training": {"searcherMetric": None}}
        self.assertEqual(self.faults("checkpoint.v1.Checkpoint", checkpoint)[:3], [
            "resources: keys are not sorted", "resources.a: expected int64, found 2",
            "state: 'COMPLETED' is no name of checkpoint.v1.State"])

    def test_a_reply_is_checked_by_its_route(self):
        with self.assertRaisesRegex(AssertionError, r"api.v1.GetMeResponse breaks the contract:\n  user: is null"):
            self.contract.check_reply("GetMe", {"user": None})
        with self.assertRaisesRegex(AssertionError, "only `result`"):
            self.contract.check_line("TaskLogs", {"error": {}})


if __name__ == "__main__":
    WIRE_DUMP = sys.argv.pop(1)
    unittest.main(verbosity=0)
