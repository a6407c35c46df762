import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { align, smooth } = await import("@shared/lib/series");
const { toYaml } = await import("@shared/lib/yaml");
const { belowRoot, root, safeTarget, to } = await import("@shared/lib/address");
const { call } = await import("@shared/api/call");
const { filterOf, orderOf, sortOf, textOf } = await import("@features/experiments/lookup");
const { chartsOf, namesOf } = await import("@shared/lib/metric-names");
const { joined } = await import("@shared/logs/log-stream");
const { keepReading } = await import("@shared/api/reading");
const { byContainer, certificate, requested, slotState, stateOf } = await import("@features/cluster/slots");
const { match, pages, parametersOf } = await import("@app/pages");

test("series are joined over one axis; what is no number is a gap", () => {
  assert.deepEqual(align([[[1, 5], [3, "NaN"]], [[2, 1], [3, 0]]]), [[1, 2, 3], [5, undefined, null], [undefined, 1, 0]]);
  const [xs, ys] = align([[[1, 0], [2, -1], [3, 4]]], true);
  assert.deepEqual([xs, ys], [[1, 2, 3], [null, null, 4]]);
  assert.deepEqual(align([]), [[]]);
});

test("many series share places on the axis, and lose no point", () => {
  // 100 series of 100 points each, of which none has an x of another.
  const all = Array.from({ length: 100 }, (_, i) => Array.from({ length: 100 }, (_, k) => [k * 100 + i, i]));
  const [xs, ...columns] = align(all);
  assert.equal(align(all, false, true)[0].length, 10_000, "a table has each x");
  assert.ok(xs.length <= 2100, `${xs.length} places`);
  assert.ok(xs.every((x, k) => k === 0 || x > xs[k - 1]), "places are in order");
  for (const [i, column] of columns.entries()) {
    assert.equal(column.filter((y) => y === i).length, 100, `series ${i}`);
    const at = column.flatMap((y, k) => (y === undefined ? [] : [xs[k]]));
    assert.ok(at.every((x, k) => Math.abs(x - all[i][k][0]) <= 10_000 / 2000), `series ${i} lies where it was reported`);
  }
  // Points of one series that lie closer together than a place is wide stay apart.
  const close = Array.from({ length: 300 }, (_, i) => [[0, i], [1e-3 * (i + 1), i], [1e6, i]]);
  assert.ok(align(close).slice(1).every((column) => column.filter((y) => y !== undefined).length === 3));
});

test("smoothing starts without a bias and leaves gaps", () => {
  assert.deepEqual(smooth([[1, 2], [2, 2], [3, "NaN"], [4, 2]], 0.9).map(([, y]) => (typeof y === "number" ? Math.round(y * 1e9) / 1e9 : y)), [2, 2, "NaN", 2]);
  const points = [[1, 1], [2, 3]];
  assert.equal(smooth(points, 0), points);
});

test("YAML is read back as the same value", () => {
  const text = toYaml({ name: "a b", empty: {}, none: null, list: [1, "yes", { a: 1, b: [2] }, []], "odd: key": "x: y", number: "1e3", dot: ".5", hash: "a #b", blank: "" });
  assert.equal(text, ['name: a b', "empty: {}", "none: null", "list:", "  - 1", '  - "yes"', "  - a: 1", "    b:", "      - 2", "  - []", '"odd: key": "x: y"', 'number: "1e3"', 'dot: ".5"', 'hash: "a #b"', 'blank: ""'].join("\n"));
});

test("after a sign-in one stays at this origin", () => {
  const home = "http://host/prefix/det/";
  assert.equal(to("jobs"), "/prefix/det/jobs");
  assert.equal(safeTarget(null), home);
  assert.equal(safeTarget("/proxy/abc/?x=1"), "http://host/prefix/proxy/abc/?x=1");
  assert.equal(safeTarget("/prefix/det/jobs"), "http://host/prefix/det/jobs");
  for (const elsewhere of ["https://evil.example/", "javascript:alert(1)", "data:text/html,x", "http://host:81/"]) assert.equal(safeTarget(elsewhere), home, elsewhere);
  for (const tricky of ["//evil.example/", "/\\evil.example/", "/\t/evil.example/", "\\\\evil.example"]) assert.equal(new URL(safeTarget(tricky)).host, "host", tricky);
});

test("requests carry their parameters as the API reads them", () => {
  assert.equal(call("GET", "api/v1/x", { a: [1, 2], b: undefined, c: { d: "e f" }, f: false }).path, "api/v1/x?a=1&a=2&c.d=e+f&f=false");
  assert.equal(call("GET", "api/v1/x", {}).path, "api/v1/x");
});

test("the list's filters are the API's", () => {
  const parsed = (wanted) => JSON.parse(filterOf({ text: "", state: "all", owner: null, archived: false, ...wanted }));
  assert.deepEqual(parsed({}), { filterGroup: { kind: "group", conjunction: "and", children: [] }, showArchived: false });
  const [text] = parsed({ text: " 41 " }).filterGroup.children;
  assert.deepEqual(text.children.map((c) => [c.columnName, c.operator, c.value]), [["name", "contains", "41"], ["description", "contains", "41"], ["id", "=", 41]]);
  const [state, owner] = parsed({ state: "failed", owner: "bob" }).filterGroup.children;
  assert.deepEqual([state.conjunction, state.children.map((c) => c.value), owner.value], ["or", ["ERROR", "CANCELED"], "bob"]);
  assert.deepEqual([sortOf(orderOf("-id")), sortOf(orderOf("name")), textOf(orderOf("-id"))], ["id=desc", "name=asc", "-id"]);
});

test("what goes on is read again when it ends or fails, until all has come", async () => {
  const told = [];
  await new Promise((done) => {
    const answers = [() => { throw new Error("away"); }, () => false, () => { done(); return true; }, () => assert.fail("read once more")];
    keepReading(async () => answers.shift()(), (error) => told.push(error.message), 0);
  });
  const later = () => new Promise((done) => setTimeout(done));
  await later();
  let begun = 0;
  const end = keepReading((signal) => { begun++; return new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))); }, (error) => told.push(error.message), 0);
  end();
  await later();
  await later();
  assert.deepEqual([told, begun], [["away"], 1], "whoever has ended it is told of no failure");
});

test("names of metrics come from the summary, validation first, numbers only", () => {
  const summary = { avg_metrics: { loss: { type: "number" }, note: { type: "string" } }, validation_metrics: { loss: { type: "number" }, acc: {} }, mine: { x: { type: "number" } } };
  const names = namesOf(summary);
  assert.deepEqual(names.map(({ group, name }) => `${group}.${name}`), ["validation.acc", "validation.loss", "training.loss", "mine.x"]);
  assert.deepEqual(namesOf(null), []);
  const [chart] = chartsOf(["loss"], names, [{ group: "training", data: [{ batches: 1, values: { loss: 2 } }, { batches: 2, values: {} }] }]);
  assert.deepEqual(chart.series.map((s) => [s.label, s.points]), [["validation", []], ["training", [[1, 2]]]]);
});

test("lines that come twice are shown once, and a log does not grow for ever", () => {
  const line = (id) => ({ id: String(id) });
  assert.deepEqual(joined([line(1), line(2)], [line(2), line(3)]).map((l) => l.id), ["1", "2", "3"]);
  assert.deepEqual(joined([line(1), line(2)], [line(3)], 2).map((l) => l.id), ["2", "3"]);
});

test("slots are used, free, draining, disabled or lost", () => {
  const agent = { lostTime: null, draining: false, enabled: true };
  const slot = { container: null, enabled: true, draining: false };
  assert.deepEqual([slotState(slot, agent), slotState({ ...slot, container: {} }, agent), slotState({ ...slot, container: {} }, { ...agent, draining: true }), slotState(slot, { ...agent, enabled: false }),
    slotState({ ...slot, enabled: false }, agent), slotState({ ...slot, container: {} }, { ...agent, lostTime: "2026" })], ["free", "used", "draining", "disabled", "disabled", "lost"]);
  assert.deepEqual([stateOf(agent), stateOf({ ...agent, enabled: false })], ["ENABLED", "DISABLED"]);
  assert.equal(byContainer([{ name: "a", resources: [{ containerId: "c" }] }]).get("c").name, "a");
});

test("agents say what was requested of them and until when their certificate is valid", () => {
  const agent = { cpus: 3.5, cpusUsed: 0, memoryBytes: "2000000000", memoryUsedBytes: "500000000", certificateExpiry: "2026-11-30T10:00:00Z" };
  assert.equal(requested(agent), "requested: 0 of 3.5 cores, 500 MB of 2.00 GB");
  assert.equal(requested({ cpus: null, memoryBytes: null }), "", "an agent of an older version does not tell");
  assert.equal(certificate(agent, Date.parse("2026-11-23T10:00:00Z")), "certificate until 2026-11-30 10:00:00 UTC");
  assert.equal(certificate(agent, Date.parse("2026-12-01T10:00:00Z")), "certificate expired 2026-11-30 10:00:00 UTC");
  assert.equal(certificate({}, 0), "");
});

test("paths lead to pages, and to no others", () => {
  const page = (path) => pages.find((p) => parametersOf(p, path))?.path;
  assert.deepEqual([page("dashboard"), page("clusters")], ["", "cluster"], "where release 0.38.1 had them");
  assert.equal(page(""), "");
  assert.equal(page("experiments/7"), page("experiments/7/trials"));
  assert.deepEqual(match("experiments/:experiment/trials/:id/:tab=metrics|logs?", "experiments/7/trials/9/logs"), { experiment: "7", id: "9", tab: "logs" });
  for (const wrong of ["experiments", "experiments/x", "experiments/7/none", "experiments/7/trials/9/logs/more", "jobs/1", "design"]) assert.equal(page(wrong), undefined, wrong);
});

test("a provider is told a path of the master, without the prefix of a reverse proxy", () => {
  assert.equal(belowRoot(safeTarget(null)), "/det/");
  assert.equal(belowRoot(`${root.href}det/experiments/1?tab=logs#end`), "/det/experiments/1?tab=logs#end");
});

test("what does not change is asked for more seldom, what does as often as before", async () => {
  const { paced } = await import("@shared/api/query");
  const query = { state: { data: { n: 1 }, dataUpdatedAt: 1 } };
  const answers = (data) => { query.state = { data, dataUpdatedAt: query.state.dataUpdatedAt + 1 }; return paced(query, 1000); };
  const same = {};
  const intervals = Array.from({ length: 9 }, () => answers(same));
  assert.deepEqual(intervals, [1000, 1000, 1000, 1000, 1500, 2000, 2500, 2500, 2500]);
  assert.equal(paced(query, 1000), 2500, "asked twice about one answer");
  assert.equal(answers({}), 1000);
  assert.equal(paced(query, false), false);
  const { updates } = await import("@shared/api/updates");
  updates.told = true;
  const [models, projects] = ["api/v1/models?limit=100", "api/v1/projects/1"].map((path) => paced({ queryKey: [path, null], state: { data: {}, dataUpdatedAt: 1 } }, 1000));
  updates.told = false;
  assert.deepEqual([models, projects], [6000, 1000], "what the master tells of is asked for seldom");
});

test("a long list is read in pages until it is whole", async () => {
  const { readAll } = await import("@shared/api/lists");
  const all = Array.from({ length: 1234 }, (_, i) => i);
  const asked = [];
  const page = (offset, limit) => ({ offset, limit });
  const found = await readAll(page, ({ rows }) => rows, async ({ offset, limit }) => { asked.push(offset); return { rows: all.slice(offset, offset + limit), pagination: { total: all.length } }; });
  assert.deepEqual([found.rows.length, found.total, asked], [1234, 1234, [0, 500, 1000]]);
});

test("a list of several pages is asked for more seldom", async () => {
  const { intervalOf } = await import("@shared/api/lists");
  assert.deepEqual([intervalOf(0, 4000), intervalOf(500, 4000), intervalOf(501, 4000), intervalOf(501, 30_000)], [4000, 4000, 20_000, 30_000]);
  assert.equal(intervalOf(501), false, "a list that is read once");
});

test("a master that is away is asked at one pace by all lists", async () => {
  const { whenAgain } = await import("@shared/api/query");
  const { AwayError } = await import("@shared/api/client");
  const state = { data: undefined, dataUpdatedAt: 0 };
  assert.equal(whenAgain({ state: { ...state, error: new AwayError() } }, 20_000), 3000);
  assert.equal(whenAgain({ state: { ...state, error: null } }, 20_000), 20_000);
});
