// Opens the address to which a directory service sends a browser, signs in, presses a button of the page that asks for a consent, and tells
// where the browser ends.
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page, { url, name, password, button, back }) => {
  await page.goto(url);
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: button }).waitFor();
  const title = await page.title();
  await page.getByRole("button", { name: button }).click();
  await page.waitForURL((address) => address.href.startsWith(back));
  return { title, end: page.url() };
});
