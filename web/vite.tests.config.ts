// Bundles web/tests for node's own test runner: `npm test`. Nothing of it needs a browser.
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig } from "vite";
import { documents } from "./documents.ts";

const here = import.meta.dirname;
const tests = readdirSync(resolve(here, "tests")).filter((name) => name.endsWith(".test.js"));
const at = (folder: string) => resolve(here, "src", folder);

export default defineConfig({
  plugins: [documents()],
  assetsInclude: ["**/*.md"],
  resolve: { alias: { "@app": at("app"), "@features": at("features"), "@shared": at("shared") } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  ssr: { noExternal: true },
  build: { ssr: true, target: "node20", outDir: "node_modules/.tests", emptyOutDir: true, rollupOptions: { input: tests.map((name) => resolve(here, "tests", name)) } },
});
