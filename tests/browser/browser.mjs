// What the scripts of this directory share: Debian's chromium, driven by playwright-core.
//
// A script gets one argument, JSON with what it needs, and prints one line of JSON with what it found. `cookies` are those of
// the platform's session; `screenshot` is the file that a picture of the last page goes to, also of one that a script failed on.
import { chromium } from "playwright-core";

const PATIENCE_MS = 120000;

export async function inBrowser(steps) {
  const wanted = JSON.parse(process.argv[2]);
  const browser = await chromium.launch({
    executablePath: wanted.chromium ?? "/usr/bin/chromium",
    // The tests run as root, and in containers whose /dev/shm is small.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  let page;
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    context.setDefaultTimeout(PATIENCE_MS);
    await context.addCookies((wanted.cookies ?? []).map((cookie) => ({ ...cookie, url: new URL(wanted.url).origin })));
    page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    const found = await steps(page, wanted);
    console.log(JSON.stringify({ ...found, errors }));
  } finally {
    if (page && wanted.screenshot) await page.screenshot({ path: wanted.screenshot }).catch(() => {});
    await browser.close();
  }
}
