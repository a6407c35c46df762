// Makes a picture of every page in both themes and both widths. `paths` names the pages, `out` is the directory of the pictures. With `webp`
// the pictures are WebP, one for each page: for one theme and one width.
import { chromium } from "playwright-core";
import { mkdirSync, writeFileSync } from "node:fs";

const QUALITY = 0.85;

/** The same picture as WebP, a quarter of the size: the browser itself makes it. */
async function asWebp(context, png) {
  const page = await context.newPage();
  const data = await page.evaluate(async ([base64, quality]) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${base64}` });
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", quality).split(",")[1];
  }, [png.toString("base64"), QUALITY]);
  await page.close();
  return Buffer.from(data, "base64");
}

const wanted = JSON.parse(process.argv[2]);
const WIDTHS = wanted.widths ?? [1440, 390];
const browser = await chromium.launch({ executablePath: wanted.chromium ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
mkdirSync(wanted.out, { recursive: true });
const faults = [];
try {
  for (const theme of wanted.themes ?? ["light", "dark"])
    for (const width of WIDTHS) {
      const context = await browser.newContext({ viewport: { width, height: wanted.tall ? (width < 500 ? 10000 : 5400) : width < 500 ? 844 : 900 }, colorScheme: theme, reducedMotion: "reduce" });
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
        const picture = await page.screenshot({ fullPage: Boolean(wanted.fullPage) });
        if (wanted.webp) writeFileSync(`${wanted.out}/${name}.webp`, await asWebp(context, picture));
        else writeFileSync(`${wanted.out}/${name}-${theme}-${width}.png`, picture);
      }
      await context.close();
    }
} finally {
  await browser.close();
}
console.log(JSON.stringify({ faults: [...new Set(faults)] }));
