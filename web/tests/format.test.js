import assert from "node:assert/strict";
import test from "node:test";
import { ago, bytes, duration, exact, metric, secondsBetween, toNumber, words } from "@shared/lib/format";

test("durations have two units at most, and a wrong clock gives none below zero", () => {
  assert.deepEqual([0, 42, 60, 200, 3600, 18720, 273600, -5].map(duration), ["0 s", "42 s", "1 min", "3 min 20 s", "1 h", "5 h 12 min", "3 d 4 h", "0 s"]);
});

test("how long ago is one unit", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  const before = (s) => new Date(now - s * 1000).toISOString();
  assert.deepEqual([-9, 10, 60, 600, 7200, 200000].map((s) => ago(before(s), now)), ["just now", "just now", "1 min ago", "10 min ago", "2 h ago", "2 d ago"]);
  assert.equal(ago("no time", now), "");
});

test("metrics have four digits, and what is no number says so", () => {
  assert.deepEqual([0, 3, 12346, 0.123456, 0.0001234567, 1.5e9, -0.5, Number.NaN, "NaN", "-Infinity", null, undefined].map(metric),
    ["0", "3", "12,346", "0.1235", "1.235e-4", "1.5e+9", "-0.5", "NaN", "NaN", "-Infinity", "–", "–"]);
});

test("sizes, times and names", () => {
  assert.deepEqual([0, 999, "1000", "1234567890"].map(bytes), ["0 B", "999 B", "1.00 KB", "1.23 GB"]);
  assert.equal(exact("2026-11-21T07:12:01.123456Z"), "2026-11-21 07:12:01 UTC");
  assert.equal(words("STATE_STOPPING_CANCELED"), "stopping canceled");
  assert.equal(secondsBetween("2026-01-01T00:00:00Z", null, Date.parse("2026-01-01T00:01:00Z")), 60);
  assert.equal(secondsBetween(null, null, 0), null);
  assert.ok(Number.isNaN(toNumber({})) && toNumber("Infinity") === Infinity);
});
