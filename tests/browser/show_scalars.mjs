// Opens TensorBoard at `url`, and waits until it draws a curve of the scalar `tag`.
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page, { url, tag }) => {
  await page.goto(url);
  const card = page.locator("scalar-card", { hasText: tag.split("/").pop() }).first();
  await card.scrollIntoViewIfNeeded();
  await card.locator("line-chart").first().waitFor();
  const runs = await page.locator("runs-data-table, runs-table").first().innerText().catch(() => "");
  return { title: await page.title(), runs };
});
