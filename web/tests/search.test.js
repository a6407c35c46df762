import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { axesOf, bestOf, importanceOf, placeOn, ranksOf } = await import("@features/experiments/search-data");
const { flatten } = await import("@shared/lib/flatten");
const { diffLines, hunks } = await import("@shared/lib/diff");
const { safeLink } = await import("@shared/notes/Markdown");
const { sharesOf, thinned } = await import("@features/trials/profile");

const trial = (id, hparams, points = []) => ({ id, hparams: flatten(hparams), points });

test("axes are those hyperparameters that differ; wide ranges are logarithmic", () => {
  const trials = [trial(1, { lr: 0.0001, net: { width: 8 }, same: 1, opt: "sgd" }), trial(2, { lr: 1, net: { width: 16 }, same: 1, opt: "adam" })];
  const axes = axesOf(trials);
  assert.deepEqual(axes.map((a) => [a.name, a.log, a.categories]), [["lr", true, null], ["net.width", false, null], ["opt", false, ["adam", "sgd"]]]);
  assert.equal(placeOn(axes[0], 0.01), 0.5);
  assert.equal(placeOn(axes[2], "sgd"), 1);
  assert.equal(placeOn(axes[1], "none"), null);
});

test("the best of a trial, ranks and importance", () => {
  assert.equal(bestOf(trial(1, {}, [[1, 3], [2, "NaN"], [3, 2]]), true), 2);
  assert.equal(bestOf(trial(1, {}, [[1, "NaN"]]), true), null);
  assert.deepEqual(ranksOf([3, null, 1, 2], true), [0, null, 1, 0.5]);
  const trials = [1, 2, 3, 4].map((lr) => trial(lr, { lr }));
  const [axis] = axesOf(trials);
  assert.equal(importanceOf(axis, trials, [0, 0.3, 0.6, 1]), 1);
  assert.equal(importanceOf(axis, trials, [1, 0.6, 0.3, 0]), -1);
});

test("a difference has every line once, and its parts make both texts", () => {
  const of = (before, after) => diffLines(before.split(""), after.split(""));
  for (const [before, after] of [["abcabba", "cbabac"], ["", "ab"], ["ab", ""], ["same", "same"], ["x", "y"], ["abcdef", "abXdef"]]) {
    const lines = of(before, after);
    assert.equal(lines.filter((l) => l.kind !== "new").map((l) => l.text).join(""), before);
    assert.equal(lines.filter((l) => l.kind !== "gone").map((l) => l.text).join(""), after);
  }
  assert.equal(of("abcabba", "cbabac").filter((l) => l.kind !== "same").length, 5);
  assert.deepEqual(hunks(of("aaaaaaaaaX", "aaaaaaaaaY"), 1).map((l) => l && l.kind), [null, "same", "gone", "new"]);
});

test("links of notes lead to pages only", () => {
  for (const bad of ["javascript:alert(1)", "JavaScript:x", "data:text/html,x", "vbscript:x", " javascript:x", "java\nscript:x", "blob:x", "file:///etc"]) assert.equal(safeLink(bad), null, bad);
  assert.equal(safeLink("https://example.com/a"), "https://example.com/a");
  assert.equal(safeLink("//evil.example/x"), "https://evil.example/x".replace("https", "http"));
  assert.equal(safeLink("experiments/7"), "experiments/7");
});

test("timings are shares of a batch; long profiles are thinned", () => {
  const timing = (name, value) => ({ name, agent: "", gpu: "", kind: "timing", points: [[0, value], [1, value]], batches: [1, 2] });
  assert.deepEqual(sharesOf([timing("a", 1), timing("b", 3)]).map((s) => [s.name, s.share]), [["b", 0.75], ["a", 0.25]]);
  const points = Array.from({ length: 6000 }, (_, i) => [i, 2]);
  assert.equal(thinned(points).length, 600);
  assert.ok(thinned(points).every(([, y]) => y === 2));
});
