import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { check, lineOf } = await import("@shared/config/check");
const { entriesOf } = await import("@features/create/context");
const { EXAMPLE, startOf } = await import("@features/create/start");

test("the example has no mistakes, and neither has what starts from a trial", () => {
  assert.deepEqual(check(EXAMPLE).mistakes, []);
  const text = startOf({ name: "a", workspace: "w", entrypoint: "python3 x", hyperparameters: { lr: { type: "log", base: 10, minval: -3, maxval: 0 } }, searcher: { name: "random", max_trials: 4, metric: "acc", smaller_is_better: false } }, { lr: 0.02, net: { width: 8 } });
  const { value, mistakes } = check(text);
  assert.deepEqual(mistakes, []);
  assert.deepEqual(value, { name: "a", entrypoint: "python3 x", hyperparameters: { lr: 0.02, net: { width: 8 } }, searcher: { name: "single", metric: "acc", smaller_is_better: false } });
});

test("mistakes have the lines of their keys", () => {
  const lines = (text) => check(text).mistakes.map((m) => m.line);
  assert.deepEqual(lines("name: [\n"), [2]);
  assert.deepEqual(lines("entrypoint: a\nsearcher:\n  name: single\n  metric: x\nresources:\n  # a comment\n  slots_per_trial: many\n"), [7]);
  assert.equal(check("").mistakes.length, 1);
  assert.equal(check("- a\n").mistakes[0].line, 1);
  assert.equal(lineOf("a:\n  - b: 1\n  - b: 2\n    c: 3\n", ["a", "1", "c"]), 4);
  assert.equal(lineOf("a: {b: 1}\n", ["a", "b"]), 1);
});

test("a folder's own name and what nobody runs are left out", () => {
  const of = (...paths) => entriesOf(paths.map((path) => ({ path, file: {} }))).map((e) => e.path);
  assert.deepEqual(of("code/main.py", "code/lib/a.py", "code/.git/HEAD", "code/__pycache__/a.pyc"), ["lib/a.py", "main.py"]);
  assert.deepEqual(of("main.py"), ["main.py"]);
  assert.deepEqual(of("a/x.py", "b/y.py"), ["a/x.py", "b/y.py"]);
});
