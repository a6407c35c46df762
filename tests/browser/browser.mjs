// What the scripts of this directory share: Debian's chromium, driven by playwright-core.
//
// A script gets one argument, JSON with what it needs, and prints one line of JSON with what it found. `cookies` are those of
// the platform's session; `screenshot` is the file that a picture of the last page goes to, also of one that a script failed on.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const PATIENCE_MS = 120000;
const PICTURE_MS = 10000;

const OPTIONS = {
  // The tests run as root, and in containers whose /dev/shm is small.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
};

/** A page of a context of its own; what the page's scripts threw is in `errors`. */
async function newPage(browser, wanted) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addCookies((wanted.cookies ?? []).map((cookie) => ({ ...cookie, url: new URL(wanted.url).origin })));
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  return { context, page, errors };
}

/** One browser for many scripts: each line of the input is what a script needs, each line of the output what it found, or why it failed. */
export async function serveBrowser(steps) {
  const browser = await chromium.launch({ executablePath: process.argv[2] ?? "/usr/bin/chromium", ...OPTIONS });
  for await (const line of createInterface({ input: process.stdin })) {
    const wanted = JSON.parse(line);
    const { context, page, errors } = await newPage(browser, wanted);
    const found = await steps(page, wanted).catch((error) => ({ failure: error.stack }));
    if (found.failure && wanted.screenshot) await page.screenshot({ path: wanted.screenshot }).catch(() => {});
    await context.close();
    console.log(JSON.stringify({ ...found, errors }));
  }
  await browser.close();
}

export async function inBrowser(steps) {
  const wanted = JSON.parse(process.argv[2]);
  const browser = await chromium.launch({ executablePath: wanted.chromium ?? "/usr/bin/chromium", ...OPTIONS });
  let page;
  try {
    const made = await newPage(browser, wanted);
    page = made.page;
    const found = await steps(page, wanted);
    console.log(JSON.stringify({ ...found, errors: made.errors }));
  } finally {
    // A page whose script does not rest would keep the picture waiting for as long as everything else.
    if (page && wanted.screenshot) await page.screenshot({ path: wanted.screenshot, timeout: PICTURE_MS }).catch(() => {});
    await browser.close();
  }
}
