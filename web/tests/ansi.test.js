import assert from "node:assert/strict";
import test from "node:test";
import { plain, spansOf } from "@shared/lib/ansi";

const shown = (line) => spansOf(line).map(({ text, className }) => (className ? `<${className}>${text}` : text));
const text = (line) => spansOf(line).map((span) => span.text).join("");

test("colours of terminals become classes", () => {
  assert.deepEqual(shown("\u001b[31mred\u001b[0m plain"), ["<ansi-red>red", " plain"]);
  assert.deepEqual(shown("\u001b[1;32mbold green\u001b[22m green\u001b[39m no"), ["<ansi-green ansi-bold>bold green", "<ansi-green> green", " no"]);
  assert.deepEqual(shown("\u001b[91mbright"), ["<ansi-red>bright"]);
  assert.deepEqual(shown("\u001b[38;5;12mindexed\u001b[38;2;1;2;31mtrue"), ["<ansi-blue>indexed", "true"]);
  assert.deepEqual(shown("\u001b[48;5;31mground"), ["ground"]);
  assert.deepEqual(shown("\u001b[mreset\u001b[999m"), ["reset"]);
});

test("whatever else would command a terminal goes", () => {
  assert.equal(text("\u001b]0;title\u0007after"), "after");
  assert.equal(text("\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u001b\\"), "link");
  assert.equal(text("\u001b[2J\u001b[Hcleared\u001b7\u001bc"), "cleared");
  assert.equal(text("a\u0000b\u0008c\u007f\u009bd\te"), "abcd\te");
  assert.equal(text("\u001b"), "");
  assert.equal(text("\u001bPdcs\u001b\\x"), "x");
});

test("marks that turn text around go, also from names", () => {
  assert.equal(text("a\u202eb\u2066c"), "abc");
  assert.equal(plain("x\u202egnp.exe\n"), "xgnp.exe");
});

test("markup stays text", () => {
  assert.equal(text("<script>alert(1)</script>"), "<script>alert(1)</script>");
});

test("a long line of escapes is read in time that grows with its length", () => {
  const line = "\u001b[".repeat(50_000) + "\u001b]".repeat(50_000);
  const begin = performance.now();
  spansOf(line);
  assert.ok(performance.now() - begin < 5000);
});
