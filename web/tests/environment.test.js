import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { chosenOf, configurationFacts, devicesOf, differences, factsOf, machineFacts, packagesOf } = await import("@features/trials/environment");

const host = (changes = {}) => ({ hostname: "gpu-1", os: "Debian 12", kernel: "6.1", architecture: "x86_64", processor: "EPYC", processors: 2, memoryBytes: String(24 * 1024 ** 3 + 5), driver: "", devices: [], image: "", ...changes });
const python = (changes = {}) => ({ executable: "/usr/bin/python3", version: "3.11.2", frameworks: {}, packages: { torch: "2.8.0", numpy: "2.4" }, seenByAgent: false, ...changes });
const record = (trialRunId, changes = {}) => ({ allocationId: `a.${trialRunId}`, containerId: `c${trialRunId}`, agentId: "gpu-1", trialRunId, rank: 0, host: host(), python: null, ...changes });

test("devices of one brand are counted together", () => {
  assert.equal(devicesOf([]), "");
  assert.equal(devicesOf([{ brand: "T4" }, { brand: "T4" }, { brand: "A100" }, { brand: "T4" }]), "2 x T4, 1 x A100, 1 x T4");
});

test("facts leave out what is not known, and packages are in order", () => {
  assert.deepEqual(machineFacts(null), []);
  assert.deepEqual(machineFacts(host({ devices: [{ brand: "T4" }] })).map(([name]) => name), ["host", "system", "kernel", "architecture", "processor", "memory", "devices"]);
  assert.deepEqual(machineFacts(host()).find(([name]) => name === "memory"), ["memory", "24576 MiB"]);
  assert.deepEqual(machineFacts(host({ memoryBytes: "0" })).some(([name]) => name === "memory"), false);
  assert.deepEqual(packagesOf(python()), [["numpy", "2.4"], ["torch", "2.8.0"]]);
  assert.deepEqual(configurationFacts({ name: "x", environment: { image: { cpu: "debian:12", cuda: null }, proxy_ports: [], environment_variables: ["A=1"], "__proto__x": 3 } }),
    [["environment.image.cpu", "debian:12"], ["environment.environment_variables", '["A=1"]'], ["environment.__proto__x", "3"]]);
  assert.deepEqual(configurationFacts(null), []);
});

test("the record that tells most is shown first", () => {
  assert.equal(chosenOf([]), null);
  assert.equal(chosenOf([record(1), record(3), record(2)]).trialRunId, 3);
  assert.equal(chosenOf([record(1, { python: python() }), record(2)]).trialRunId, 1);
  assert.equal(chosenOf([record(2, { python: python(), rank: 0 }), record(2, { python: python(), rank: 1 })]).rank, 0);
});

test("differences name what one of two has not, too", () => {
  const [a, b] = [factsOf(record(1, { python: python() }), { environment: { image: "a" } }), factsOf(record(1, { host: host({ driver: "550" }), python: python({ packages: { torch: "2.9.0", scipy: "1" } }) }), null)];
  assert.deepEqual(differences(a, a), []);
  assert.deepEqual(differences(a, b), [
    { name: "environment.image", first: "a", second: "" }, { name: "driver", first: "", second: "550" },
    { name: "package numpy", first: "2.4", second: "" }, { name: "package scipy", first: "", second: "1" }, { name: "package torch", first: "2.8.0", second: "2.9.0" }]);
  assert.deepEqual(differences([], []), []);
});
