import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { readCsv } = await import("@shared/lib/csv");
const { datesOf, dayName, lastDays, totalsOf, wholeOf } = await import("@shared/usage/usage");
const { utilisation } = await import("@shared/usage/utilisation");
const { kindOf, subscription, TOUCHED } = await import("@shared/api/updates");
const { changesNothing } = await import("@shared/ui/dragging");
const { csv, fileName } = await import("@shared/lib/save");
const { edgeOf, fieldsOf, partsOf } = await import("@features/experiments/heat");
const { differing } = await import("@features/experiments/differing");
const { runFilter } = await import("@features/experiments/runs");

test("CSV is read with quotes, commas and line breaks in its fields", () => {
  assert.deepEqual(readCsv('key,used\n"a, ""b""\nc",1\n,2\n'), [{ key: 'a, "b"\nc', used: "1" }, { key: "", used: "2" }]);
  assert.deepEqual(readCsv("key\r\nx"), [{ key: "x" }]);
  assert.deepEqual(readCsv(""), []);
});

test("days and months of a span", () => {
  const now = Date.parse("2026-03-02T10:00:00Z");
  assert.deepEqual(lastDays(3, now), { first: "2026-02-28", last: "2026-03-02", period: "DAILY" });
  assert.deepEqual(datesOf(lastDays(3, now)), ["2026-02-28", "2026-03-01", "2026-03-02"]);
  assert.deepEqual(datesOf({ first: "2025-12-31", last: "2026-02-01", period: "MONTHLY" }), ["2025-12", "2026-01", "2026-02"]);
  assert.deepEqual([dayName("2026-11-03"), dayName("2026-11"), dayName(undefined)], ["3 Nov", "Nov 2026", ""]);
});

test("sums of usage, the largest first; a pool without a price has no cost", () => {
  const share = (date, key, used, cost = null) => ({ date, key, used, failed: 0, cost });
  const [first, second] = totalsOf([share("d1", "ann", 1), share("d1", "ben", 2, 3), share("d2", "ben", 2), share("d1", "ben", 1, 1)]);
  assert.deepEqual([first.key, first.used, first.cost, first.byDate.get("d1"), first.byDate.get("d2")], ["ben", 5, 4, 3, 2]);
  assert.deepEqual([second.key, second.cost], ["ann", null]);
  const pool = (used, available, cost) => ({ date: "d1", pool: "p", used, available, failed: 1, cost });
  assert.deepEqual(wholeOf([pool(1, 4, null), pool(2, 4, 5)]), { used: 3, available: 8, failed: 2, cost: 5, idle: 0.625 });
  assert.equal(wholeOf([]).idle, null, "where nothing was there nothing was idle");
  assert.equal(wholeOf([pool(3, 2, null)]).idle, 0);
});

test("utilisation is the mean of each part of the time", () => {
  const at = (s) => new Date(s * 1000).toISOString();
  const { there, used } = utilisation([
    { kind: "agent", startTime: at(0), endTime: at(40), slots: 8 },
    { kind: "training", startTime: at(5), endTime: at(20), slots: 4 },
    { kind: "training", startTime: at(-100), endTime: at(10), slots: 1 },
    { kind: "ntsc", startTime: at(35), endTime: null, slots: 2 },
    { kind: "training", startTime: at(500), endTime: at(600), slots: 9 },
  ], 0, 40_000, 4);
  assert.deepEqual(there.map(([, y]) => y), [8, 8, 8, 8]);
  assert.deepEqual(used.map(([, y]) => y), [3, 4, 0, 1]);
});

test("an update makes the answers of its kind old", () => {
  assert.equal(kindOf('{"project": {"id": 1}}'), "projects");
  assert.equal(kindOf('{"modelversions_deleted": "4-5"}'), "modelversions");
  assert.equal(kindOf('{"sync_id": "1", "complete": false}'), null);
  assert.equal(kindOf('{"sync_id": "1", "complete": true}'), "complete");
  for (const odd of ["", "[]", "3", "null", '{"toString": 1}', '{"__proto__": 1}']) assert.equal(kindOf(odd), null, odd);
  const old = (kind, path) => TOUCHED[kind].some((one) => one.test(path));
  assert.ok(old("projects", "api/v1/workspaces/0/projects?limit=200") && old("projects", "api/v1/projects/3") && !old("projects", "api/v1/experiments/3"));
  assert.ok(old("models", "api/v1/models?name=x") && old("modelversions", "api/v1/models/a/versions") && !old("models", "api/v1/me"));
  assert.deepEqual(subscription({ workspaces: [1, 2], users: [7] }).subscribe.modelversions, { model_ids: [], model_version_ids: [], user_ids: [7], since: 0 });
});

test("a row that is dropped where it is stays", () => {
  assert.ok(changesNothing(3, 3, "before") && changesNothing(3, 4, "before") && changesNothing(3, 2, "behind"));
  assert.ok(!changesNothing(3, 4, "behind") && !changesNothing(3, 2, "before") && !changesNothing(0, 2, "before"));
});

test("a file of a table has the table's name", () => {
  assert.equal(fileName("Usage by user", "csv"), "usage-by-user.csv");
  assert.equal(fileName("../../<img>", "png"), "img.png");
  assert.equal(fileName("…", "csv"), "table.csv");
});

test("what a spreadsheet would take for a formula is text; numbers stay numbers", () => {
  assert.equal(csv([["=1+1", "@x", "-2.5e3", "-x", 'a "b"', "a,b"]]), `'=1+1,'@x,-2.5e3,'-x,"a ""b""","a,b"\r\n`);
});

test("a heat map has the best trial of each field", () => {
  const lr = { name: "lr", categories: null, min: 0.001, max: 1, log: true };
  const kind = { name: "kind", categories: ["a", "b"], min: 0, max: 1, log: false };
  const trial = (id, rate, of) => ({ id, hparams: { lr: rate, kind: of }, points: [] });
  const trials = [trial(1, 0.001, "a"), trial(2, 0.0011, "a"), trial(3, 1, "b"), trial(4, 1, "c"), trial(5, 0.1, "b")];
  const fields = fieldsOf(lr, kind, trials, [0.5, 0.4, 0.1, 0.3, null], [0, 0.5, 1, 0.7, null]);
  assert.deepEqual(fields, [{ column: 0, row: 0, trials: [1, 2], best: 0.4, rank: 0.5 }, { column: 7, row: 1, trials: [3], best: 0.1, rank: 1 }]);
  assert.equal(partsOf(kind), 2);
  assert.ok(Math.abs(edgeOf(lr, 4) - Math.sqrt(0.001)) < 1e-9, "an axis of decades is cut into equal parts of decades");
});

test("hyperparameters that differ have columns", () => {
  const run = (hyperparameters) => ({ hyperparameters });
  assert.deepEqual(differing([run({ lr: 1, same: 2, net: { depth: 3 } }), run({ lr: 2, same: 2 }), run({ lr: 1, same: 2 })]), ["lr", "net.depth"]);
  assert.deepEqual(differing([run(null)]), []);
});

test("the filter of runs", () => {
  const of = (...given) => JSON.parse(runFilter(...given));
  assert.deepEqual(of("", "all", false), { filterGroup: { kind: "group", conjunction: "and", children: [] }, showArchived: false });
  const { filterGroup } = of(" 41 ", "failed", true);
  assert.deepEqual(filterGroup.children[0].children.map((f) => [f.columnName, f.value]), [["experimentName", "41"], ["id", 41]]);
  assert.deepEqual(filterGroup.children[1].children.map((f) => f.value), ["ERROR", "CANCELED"]);
});
