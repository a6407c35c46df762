import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { ranked } = await import("../src/app/found");
const { nameOf } = await import("@shared/lib/keys");
const { csv } = await import("@shared/lib/save");
const { mistakeOf, nodeOf, readConditions, writeConditions } = await import("@features/experiments/filters");
const { columnOf } = await import("@features/experiments/columns");

test("what is found: ids first, then names that begin with it, then words", () => {
  const one = (name, more) => ({ kind: "experiment", name, detail: "", path: name, icon: "", ...more });
  assert.deepEqual(ranked([one("unet"), one("my net"), one("network"), one("net"), one("x", { exact: true })], "net").map((f) => f.name), ["x", "net", "network", "my net", "unet"]);
});

test("a key has one name on all machines", () => {
  assert.equal(nameOf({ key: "K", metaKey: true, ctrlKey: false, altKey: false }), "Ctrl+k");
  assert.equal(nameOf({ key: "?", metaKey: false, ctrlKey: false, altKey: false }), "?");
});

test("a table saved as CSV has no formulas", () => {
  assert.equal(csv([["=1+1", -3, 'a"b', "x,y", null, "-1.5e3"]]), `'=1+1,-3,"a""b","x,y",,-1.5e3\r\n`);
});

test("conditions come back from the address; what is none is left out", () => {
  const all = [{ column: "hp.lr", operator: "<", value: "0.1" }];
  assert.deepEqual(readConditions(writeConditions(all)), all);
  for (const text of ["", "{", "3", "[1]", '[["a"]]', '[["a",1,2]]']) assert.deepEqual(readConditions(text), []);
});

test("a condition is sent as its column's type", () => {
  const columns = [{ column: "hp.lr", type: "COLUMN_TYPE_NUMBER", location: "LOCATION_TYPE_HYPERPARAMETERS", displayName: "" }];
  assert.deepEqual(nodeOf({ column: "hp.lr", operator: "<", value: "0.1" }, columns), { kind: "field", columnName: "hp.lr", operator: "<", value: 0.1, location: "LOCATION_TYPE_HYPERPARAMETERS", type: "COLUMN_TYPE_NUMBER" });
  assert.equal(mistakeOf({ column: "hp.lr", operator: "<", value: "fast" }, columns), "fast is no number");
  assert.equal(mistakeOf({ column: "hp.lr", operator: "isEmpty", value: "" }, columns), undefined);
});

test("a column of a hyperparameter or a metric reads the best trial", () => {
  const row = { experiment: {}, bestTrial: { hparams: { lr: 0.1, deep: { width: 3 } }, summaryMetrics: { validation_metrics: { loss: { min: 0.25 }, "top.1": { last: 7 } } } } };
  const shown = (key) => JSON.stringify(columnOf(key).cell(row));
  assert.match(shown("hp.lr"), /0\.1/);
  assert.match(shown("hp.deep.width"), /3/);
  assert.match(shown("validation.loss.min"), /0\.25/);
  assert.match(shown("validation.top.1.last"), /7/);
  assert.match(shown("hp.nothing"), /–/);
});
