// Opens JupyterLab at `url`, makes a new notebook, executes `code` in its first cell, and tells what is below it.
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page, { url, code }) => {
  await page.goto(url);
  await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click();
  // JupyterLab forgets what is executed before the kernel is there.
  await page.getByText("| Idle").waitFor();
  const cell = page.locator(".jp-Notebook .jp-CodeCell .cm-content").first();
  await cell.click();
  await page.keyboard.type(code);
  await page.keyboard.press("Shift+Enter");
  const output = page.locator(".jp-Notebook .jp-CodeCell .jp-OutputArea-output").first();
  await output.waitFor();
  return { output: (await output.innerText()).trim(), title: await page.title(), address: page.url() };
});
