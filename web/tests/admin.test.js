import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { changesOf, deedOf, fits, isWhole, narrowed, newest, older, valuesOf } = await import("@features/admin/audit");
const { bodyOf, ofGroup, ofUser, ofWorkspace, throughGroups } = await import("@features/admin/assignments");
const { may } = await import("@features/admin/permissions");
const { difference } = await import("@features/admin/members");
const { checkPolicy } = await import("@shared/config/check");

const record = (more) => ({ seq: "7", username: "ann", kind: "user", objectId: "4", action: "update", route: "PatchUser", address: "::1", ...more });

test("the audit log is read backwards without a gap, in larger steps where little fits", () => {
  assert.deepEqual(newest(2500, 0), { after: 1500, upTo: 2500 });
  assert.deepEqual(newest(300, 100), { after: 100, upTo: 300 }, "nothing is before the oldest record that is kept");
  let span = newest(100_000, 0);
  const seen = [span];
  while ((span = older(span, 0, 0))) seen.push(span);
  assert.equal(seen.at(-1).after, 0);
  for (let i = 1; i < seen.length; i++) assert.equal(seen[i].upTo, seen[i - 1].after);
  assert.ok(seen.length < 8, "rare records need few requests");
  assert.equal(older({ after: 9000, upTo: 10_000 }, 0, 900).after, 8000, "where much fits the steps stay small");
});

test("a full reply is asked for again in a span that a reply holds", () => {
  const full = Array.from({ length: 1000 }, () => record());
  assert.ok(isWhole({ after: 0, upTo: 1000 }, full) && isWhole({ after: 0, upTo: 64_000 }, [record()]));
  const span = { after: 0, upTo: 64_000 };
  assert.ok(!isWhole(span, full));
  assert.deepEqual(narrowed(span), { after: 63_000, upTo: 64_000 });
});

test("a record says what was done, and to which values", () => {
  const r = record({ before: '{"name":"a","admin":0}', after: '{"name":"b","admin":0}' });
  assert.equal(deedOf(r), "changed user 4");
  assert.equal(deedOf(record({ action: "insert", kind: "group_member", objectId: "2/5" })), "created group member 2/5");
  assert.equal(changesOf(r), "name");
  assert.equal(valuesOf(r.before), "name: a\nadmin: 0");
  assert.equal(valuesOf(undefined), "");
  assert.equal(valuesOf("no JSON"), "no JSON");
  assert.ok(fits(r, "PATCHuser") && fits(r, '"b"') && fits(r, "") && !fits(r, "zoe"));
});

const EDITOR = { roleId: 5, name: "Editor", permissions: [{ id: "PERMISSION_TYPE_ASSIGN_ROLES", name: "" }], scopeTypeMask: null };

test("assignments of a workspace are rows with names", () => {
  const reply = { usersAssignedDirectly: [{ id: 3, username: "zoe" }], groups: [{ groupId: 9, name: "crew" }],
    assignments: [{ role: EDITOR, userRoleAssignments: [{ userId: 3, roleAssignment: null }], groupRoleAssignments: [{ groupId: 9, roleAssignment: null }, { groupId: 10, roleAssignment: null }] }] };
  assert.deepEqual(ofWorkspace(reply, 2).map(({ holder, workspace }) => `${holder.kind} ${holder.name} ${workspace}`), ["group crew 2", "group group 10 2", "user zoe 2"]);
});

test("a user has roles directly and through groups", () => {
  const holder = { kind: "user", id: 3, name: "zoe" };
  const roles = [{ role: EDITOR, userRoleAssignments: [{ userId: 3, roleAssignment: { scopeCluster: false, scopeWorkspaceId: 2 } }, { userId: 3, roleAssignment: { scopeCluster: true } }],
    groupRoleAssignments: [{ groupId: 9, roleAssignment: { scopeCluster: true } }] }];
  assert.deepEqual(ofUser(roles, holder).map((a) => a.workspace), [2, null]);
  assert.deepEqual(throughGroups(roles).map((a) => [a.holder.kind, a.holder.id, a.workspace]), [["group", 9, null]]);
  const given = ofGroup({ roles: [EDITOR], assignments: [{ roleId: 5, scopeCluster: true, scopeWorkspaceIds: [1, 2] }, { roleId: 77, scopeCluster: true, scopeWorkspaceIds: [] }] }, holder);
  assert.deepEqual(given.map((a) => a.workspace), [null, 1, 2]);
});

test("an assignment is sent as the route wants it", () => {
  const user = { holder: { kind: "user", id: 3, name: "zoe" }, role: EDITOR, workspace: null };
  assert.deepEqual(bodyOf(user), { userRoleAssignments: [{ userId: 3, roleAssignment: { role: { roleId: 5 }, scopeCluster: true } }] });
  assert.deepEqual(bodyOf({ ...user, holder: { kind: "group", id: 9, name: "crew" }, workspace: 2 }), { groupRoleAssignments: [{ groupId: 9, roleAssignment: { role: { roleId: 5 }, scopeWorkspaceId: 2 } }] });
});

test("what somebody may in a workspace is what their roles there and in the cluster have", () => {
  const summary = (assignment) => ({ roles: [EDITOR], assignments: [{ roleId: 5, scopeCluster: false, scopeWorkspaceIds: [], ...assignment }] });
  const asked = (assignment) => may(summary(assignment), "PERMISSION_TYPE_ASSIGN_ROLES", 2);
  assert.ok(asked({ scopeCluster: true }) && asked({ scopeWorkspaceIds: [2] }));
  assert.ok(!asked({ scopeWorkspaceIds: [3] }) && !may(summary({ scopeCluster: true }), "PERMISSION_TYPE_DELETE_WORKSPACE", 2));
});

test("members are changed by difference", () => {
  assert.deepEqual(difference([1, 2], new Set([2, 3])), { addUsers: [3], removeUsers: [1] });
  assert.deepEqual(difference([], new Set()), { addUsers: [], removeUsers: [] });
});

test("a policy is checked while it is typed; of experiments also what it sets", () => {
  const lines = (text, of = true) => checkPolicy(text, of).mistakes.map((m) => `${m.line} ${m.text}`);
  assert.deepEqual(lines("constraints:\n  resources: {max_slots: 8}\n  priority_limit: 10\ninvariant_config:\n  max_restarts: 3\n"), []);
  assert.deepEqual(lines("invariant_config:\n  resources:\n    shm_size: 4294967296\n"), []);
  assert.deepEqual(lines("constraints:\n  resources: {max_slots: 8, max_time: 24h, max_idle_time: 30m}\n", false), []);
  const [limit] = lines("constraints:\n  priority_limit: 100\n");
  assert.match(limit, /^2 constraints\.priority_limit/);
  assert.match(lines("constraint:\n  priority_limit: 1\n")[0], /^1 There is no key constraint/);
  assert.match(lines("invariant_config:\n  resources:\n    slots_per_trial: many\n")[0], /^3 resources\.slots_per_trial/);
  assert.deepEqual(lines("invariant_config:\n  max_restarts: many\n", false), [], "of other tasks the master alone knows the keys");
  assert.equal(lines("invariant_config: [").length, 1);
});
