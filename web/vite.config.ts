// Builds the interface into dist/. Every address in it is relative, so that it works below any path; the master writes the base of the
// page it sends (src/api/web). `npm run dev` serves the sources at http://localhost:5173/det/, with the API of $DET_MASTER.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import { documents } from "./documents.ts";

const MASTER = process.env.DET_MASTER ?? "http://127.0.0.1:8080";
const COMPRESSED = /\.(js|css|svg|json|md)$/;

/** Writes each file compressed, too, so that the master has nothing to compress. */
function compress(): Plugin {
  return {
    name: "compress",
    apply: "build",
    writeBundle({ dir }) {
      for (const entry of readdirSync(dir!, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const text = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
      }
    },
  };
}

/** The development server has no master before it that would write the page's base. */
function baseOfDevelopment(): Plugin {
  return { name: "base", apply: "serve", transformIndexHtml: (html) => html.replace('<base href="./">', '<base href="/det/">') };
}

/** What nearly every page needs is one file. A browser asks for six files at a time, and the page's first requests to the API wait behind them. */
const BASE = /\/node_modules\/(preact|@tanstack)\/|\/src\/shared\/(api\/(?!live)|lib\/(?!diff|yaml)|ui\/(?!chart|diff|log|sheet|yaml))/i;

const at = (folder: string) => resolve(import.meta.dirname, "src", folder);

export default defineConfig(({ command }) => ({
  base: command === "serve" ? "/det/" : "./",
  plugins: [documents(), compress(), baseOfDevelopment()],
  assetsInclude: ["**/*.md"],
  resolve: { alias: { "@app": at("app"), "@features": at("features"), "@shared": at("shared") } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // An image that was written into a style sheet as data would need a weaker policy.
  build: { target: "es2022", cssTarget: ["chrome123", "firefox120", "safari17.5"], modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "base", test: BASE }] } } } },
  server: { fs: { allow: [".", "../docs"] }, proxy: { "/api": MASTER, "/resources": MASTER, "/stream": { target: MASTER, ws: true } } },
}));
