import "./browser.js";
import assert from "node:assert/strict";
import test from "node:test";

const { sectionsOf, slugs } = await import("@shared/notes/headings");
const { find, linkOf, pageOf, withoutComments } = await import("@features/docs/finding");
const { nearest, stepped } = await import("@features/experiments/stepping");

test("a text is taken apart by its headings, and code has none", () => {
  const found = sectionsOf("# One `two`\nfirst\n```sh\n# no heading\n```\n## [Three](x.md)\n## Three\nlast");
  assert.deepEqual(found.map(({ heading, slug, depth }) => [heading, slug, depth]), [["One two", "one-two", 1], ["Three", "three", 2], ["Three", "three-1", 2]]);
  assert.match(found[0].text, /# no heading/);
  assert.equal(slugs()("What a task's C++ is — or not?"), "what-a-tasks-c-is--or-not");
});

test("words are found in headings first, and all of them must be there", () => {
  const pages = [pageOf("a", "A", "# A\nrestarts of trials"), pageOf("b", "B", "# B\n## Restarts\n| trials | x |\n|---|---|\n| (a+ | y |")];
  assert.deepEqual(find(pages, "restarts TRIALS").map(({ name, slug }) => [name, slug]), [["b", "restarts"], ["a", ""]]);
  assert.deepEqual(find(pages, "restarts nowhere"), []);
  assert.deepEqual(find(pages, "(a+")[0].excerpt.filter((_, i) => i % 2), ["(a+"]);
  assert.deepEqual(find(pages, "  "), []);
  assert.equal(withoutComments("a\n<!-- not\nshown -->\nb"), "a\nb");
});

test("links of a page lead to pages that are there, to other sites, or nowhere", () => {
  const names = new Set(["guide", "reference/searchers", "spec/wire"]);
  assert.deepEqual(linkOf("guide", "reference/searchers.md#asha", names), { name: "reference/searchers", slug: "asha" });
  assert.deepEqual(linkOf("reference/searchers", "../spec/wire.md", names), { name: "spec/wire", slug: "" });
  assert.deepEqual(linkOf("guide", "#searches", names), { name: "guide", slug: "searches" });
  assert.deepEqual(linkOf("guide", "https://example.com/", names), { href: "https://example.com/" });
  for (const nowhere of ["../src/README.md", "decisions/0001.md", "../../etc/passwd", "javascript:alert(1)"]) assert.equal(linkOf("guide", nowhere, names), null, nowhere);
});

test("arrow keys lead through points and fields", () => {
  assert.deepEqual([stepped(3, null, "ArrowRight"), stepped(3, 0, "ArrowLeft"), stepped(3, 0, "End"), stepped(3, 1, "x"), stepped(0, null, "Home")], [0, 0, 2, null, null]);
  const fields = [{ column: 0, row: 0 }, { column: 2, row: 0 }, { column: 0, row: 3 }, { column: 2, row: 3 }];
  assert.deepEqual([nearest(fields, 0, "ArrowRight"), nearest(fields, 0, "ArrowUp"), nearest(fields, 3, "ArrowLeft"), nearest(fields, 0, "ArrowDown")], [1, 2, 2, null]);
});
