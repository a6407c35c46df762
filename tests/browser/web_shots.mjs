// Makes a picture of every page in both themes and both widths. `paths` names the pages, `out` is the directory of the pictures.
import { chromium } from "playwright-core";
import { mkdirSync } from "node:fs";

const wanted = JSON.parse(process.argv[2]);
const WIDTHS = wanted.widths ?? [1440, 390];
const browser = await chromium.launch({ executablePath: wanted.chromium ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
mkdirSync(wanted.out, { recursive: true });
const faults = [];
try {
  for (const theme of wanted.themes ?? ["light", "dark"])
    for (const width of WIDTHS) {
      const context = await browser.newContext({ viewport: { width, height: wanted.tall ? (width < 500 ? 6400 : 3600) : width < 500 ? 844 : 900 }, colorScheme: theme, reducedMotion: "reduce" });
      await context.addCookies((wanted.cookies ?? []).map((cookie) => ({ ...cookie, url: new URL(wanted.url).origin })));
      const page = await context.newPage();
      page.on("pageerror", (error) => faults.push(String(error)));
      page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
      for (const [name, path] of Object.entries(wanted.paths)) {
        if (path === "login") await context.clearCookies();
        await page.goto(new URL(path, wanted.url).href);
        await page.locator(wanted.ready ?? "main").first().waitFor();
        await page.locator("[aria-busy=true]:not(.shown)").first().waitFor({ state: "detached" }).catch(() => {});
        await page.waitForLoadState("networkidle", { timeout: 1500 }).catch(() => {});
        await page.screenshot({ path: `${wanted.out}/${name}-${theme}-${width}.png`, fullPage: Boolean(wanted.fullPage) });
      }
      await context.close();
    }
} finally {
  await browser.close();
}
console.log(JSON.stringify({ faults: [...new Set(faults)] }));
