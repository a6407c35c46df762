// What people do with the web interface: `scenario` names one, the rest of a line of the input is what it needs.
import { readFileSync, writeFileSync } from "node:fs";
import { serveBrowser } from "./browser.mjs";

const NARROW = { width: 390, height: 844 };

const row = (page, text) => page.locator(".line", { hasText: text }).first();
const texts = (locator) => locator.evaluateAll((all) => all.map((element) => element.textContent.trim()));
const signIn = async (page, name, password) => {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
};

/** As if the page's tab were shown or hidden. */
const showTab = (page, visible) => page.evaluate((now) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => !now });
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (now ? "visible" : "hidden") });
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
}, visible);

const COMPLETE = /"complete": ?true/;

const scenarios = {
  /** From a page without a session to the sign-in and back; a wrong password is told. */
  async signs_in(page, { at, password, url }) {
    await page.goto(url + at);
    await page.waitForURL("**/det/login?redirect=**");
    await signIn(page, "determined", "wrong");
    const refused = await page.getByRole("alert").innerText();
    await signIn(page, "determined", password);
    await page.waitForURL(url + at);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const cookie = (await page.context().cookies()).find(({ name }) => name === "auth");
    const seen = await page.evaluate(() => document.cookie);
    await page.getByRole("button", { name: /theme and sign out/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.waitForURL("**/det/login");
    return { refused, httpOnly: cookie.httpOnly, sameSite: cookie.sameSite, seen };
  },

  /** A way back that leads elsewhere is not taken. */
  async stays_here(page, { password, url, elsewhere }) {
    await page.goto(`${url}login?redirect=${encodeURIComponent(elsewhere)}`);
    await signIn(page, "determined", password);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    return { address: page.url() };
  },

  /** Whoever was sent here by a task's page goes back to it. */
  async goes_back_to_a_task(page, { password, url, task }) {
    await page.goto(`${url}login?redirect=${encodeURIComponent(task)}`);
    await signIn(page, "determined", password);
    await page.waitForURL(`**${task}`);
    return { address: page.url() };
  },

  /** At the provider's button, to the page that was asked for. What a failed login says is text, with a way back. */
  async signs_in_at_a_provider(page, { at, url, provider }) {
    await page.goto(url + at);
    await page.waitForURL("**/det/login?redirect=**");
    const buttons = await texts(page.getByRole("button"));
    await page.getByRole("button", { name: `Sign in with ${provider}` }).click();
    await page.waitForURL(url + at);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const cookie = (await page.context().cookies()).find(({ name }) => name === "auth");
    return { buttons, httpOnly: cookie.httpOnly, sameSite: cookie.sameSite };
  },

  async fails_at_a_provider(page, { url, provider }) {
    await page.goto(`${url}login`);
    await page.getByRole("button", { name: `Sign in with ${provider}` }).click();
    await page.getByRole("heading", { name: "Not logged in" }).waitFor();
    const said = await page.locator("p").first().innerText(), elements = await page.locator("body *").evaluateAll((all) => all.map((e) => e.localName));
    await page.getByRole("link", { name: "Back to the sign-in page" }).click();
    await page.getByRole("button", { name: `Sign in with ${provider}` }).waitFor();
    return { said, elements, address: page.url(), hacked: await page.evaluate(() => Boolean(window.hacked)) };
  },

  /** With always_redirect nobody sees the page, but with ?password. */
  async is_sent_on_to_the_provider(page, { url, provider }) {
    await page.goto(url);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.context().clearCookies();
    await page.goto(`${url}login?password`);
    await page.getByRole("button", { name: `Sign in with ${provider}` }).waitFor();
    return { address: page.url() };
  },

  /** The page whose address det prints: a code is typed or comes with the address, and is confirmed or refused. */
  async device(page, { url, typed, wrong, answer }) {
    await page.goto(`${url}device`);
    await page.getByLabel("The code that det shows").fill(wrong);
    await page.getByRole("button", { name: "Go on" }).click();
    const mistake = await page.getByRole("alert").innerText();
    await page.getByRole("button", { name: "Type another code" }).click();
    await page.getByLabel("The code that det shows").fill(typed);
    await page.getByRole("button", { name: "Go on" }).click();
    const asked = await page.locator(".card p").first().innerText();
    await page.getByRole("button", { name: answer }).click();
    return { mistake, asked, done: await page.locator(".card").getByRole("status").innerText(), hacked: await page.evaluate(() => Boolean(window.hacked)) };
  },

  /** Whoever opens det's address without a session signs in first, and the code is not lost. */
  async device_after_sign_in(page, { url, code, password }) {
    await page.goto(`${url}device?code=${code}`);
    await page.waitForURL("**/det/login?redirect=**");
    await signIn(page, "determined", password);
    await page.getByRole("button", { name: "Log this machine in" }).click();
    return { done: await page.locator(".card").getByRole("status").innerText() };
  },

  async home(page, { url, running, ended }) {
    await page.goto(url);
    await row(page, running).waitFor();
    await row(page, ended).waitFor();
    const load = await page.getByRole("meter").first().getAttribute("aria-valuemax");
    await row(page, running).locator("a").click();
    await page.waitForURL("**/det/experiments/*");
    await page.goBack();
    await row(page, running).waitFor();
    return { load: Number(load), title: await page.title() };
  },

  /** What ends while somebody is away is new at the next look, until it is marked. */
  async ended_since(page, { url, name, user }) {
    await page.goto(url);
    // The first look marks all as seen, when the list has come.
    await page.getByText("nothing new").waitFor();
    await page.evaluate((id) => localStorage.setItem(`det.seen.${id}`, "2020-01-01T00:00:00Z"), user);
    await page.reload();
    await page.getByRole("heading", { name: /Ended since you last looked/ }).waitFor();
    await row(page, name).waitFor();
    await page.getByRole("button", { name: "Mark as seen" }).click();
    await page.getByText("nothing new").waitFor();
    await page.reload();
    await page.getByText("nothing new").waitFor();
    return {};
  },

  /** Search, filter and order; the address keeps them. */
  async experiments(page, { url, at }) {
    await page.goto(url + at);
    await page.getByText(/\d+ experiments/).waitFor();
    const all = Number((await page.getByText(/^\d+ experiments?$/).innerText()).split(" ")[0]);
    await page.getByRole("button", { name: "Name" }).click();
    await page.waitForURL("**sort=name**");
    await page.waitForFunction(() => document.querySelector(".line a")?.textContent.startsWith("<img"));
    const byName = await texts(page.locator(".line a"));
    await page.getByLabel("Search by name or ID").fill("resnet");
    await page.waitForURL("**q=resnet**");
    await page.waitForFunction(() => [...document.querySelectorAll(".line a")].length > 0 && [...document.querySelectorAll(".line a")].every((a) => a.textContent.includes("resnet")));
    const found = await texts(page.locator(".line a"));
    await page.getByText("Active", { exact: true }).click();
    await page.getByText(/^1 experiment$/).waitFor();
    const address = page.url();
    await page.reload();
    await page.getByText(/^1 experiment$/).waitFor();
    const kept = { search: await page.getByLabel("Search by name or ID").inputValue(), rows: await texts(page.locator(".line a")) };
    await page.getByLabel("Search by name or ID").fill("nothing has this name");
    await page.getByText("No experiment fits").waitFor();
    return { all, byName, found, address, kept };
  },

  /** A list of 100,000 rows: the pages of it are made here, so that the list is what is tried. */
  async many_rows(page, { url, at, total }) {
    const asked = [];
    const template = {};
    await page.route("**/api/v1/experiments-search", async (route) => {
      const { offset, limit } = route.request().postDataJSON();
      asked.push(offset);
      template.first ??= (await (await route.fetch({ postData: { ...route.request().postDataJSON(), offset: 0, limit: 1 } })).json()).experiments[0];
      const experiments = Array.from({ length: Math.min(limit, total - offset) }, (_, i) => ({ ...template.first, experiment: { ...template.first.experiment, id: offset + i + 1, name: `row ${offset + i + 1}` } }));
      await route.fulfill({ json: { experiments, pagination: { offset, limit, startIndex: offset, endIndex: offset + experiments.length, total } } });
    });
    await page.goto(url + at);
    await page.getByText("row 1", { exact: true }).waitFor();
    const scroller = page.locator(".scroller");
    await scroller.evaluate((element) => { element.scrollTop = element.scrollHeight / 2; });
    await page.getByText(`row ${total / 2}`, { exact: true }).waitFor();
    await scroller.evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await page.getByText(`row ${total}`, { exact: true }).waitFor();
    const inDocument = await page.locator(".line").count();
    // Frames while it is scrolled by hand: how long each took.
    const frames = await scroller.evaluate((element) => new Promise((resolve) => {
      const times = [];
      let last = performance.now();
      const step = (now) => {
        times.push(now - last);
        last = now;
        element.scrollTop -= 60;
        if (times.length < 120) requestAnimationFrame(step);
        else resolve(times.slice(1));
      };
      requestAnimationFrame(step);
    }));
    frames.sort((a, b) => a - b);
    return { asked: asked.length, inDocument, p95: frames[Math.floor(frames.length * 0.95)] };
  },

  /** The chart of a running experiment goes on by itself. */
  async live_chart(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".chart canvas").waitFor();
    const step = page.locator(".legend > span").first();
    const before = await step.innerText();
    await page.waitForFunction((old) => document.querySelector(".legend > span").innerText !== old, before);
    return { before, after: await step.innerText(), series: await page.locator(".legend .key").count() };
  },

  /** The log is shown from its end and goes on; scrolled up it stays where it is. */
  async live_log(page, { url, at }) {
    await page.goto(url + at);
    await page.getByText("live", { exact: true }).waitFor();
    await page.locator(".entry .ansi-green").last().waitFor();
    const count = () => page.getByText(/^[\d,]+ lines/).innerText().then((text) => Number.parseInt(text.replace(",", ""), 10));
    const before = await count();
    await page.waitForFunction((old) => Number.parseInt([...document.querySelectorAll(".number")].map((e) => e.textContent).find((t) => /lines/.test(t)).replace(",", ""), 10) > old, before);
    await page.getByLabel("Search the log").fill("gradient");
    await page.waitForFunction(() => document.querySelectorAll(".entry").length > 0 && [...document.querySelectorAll(".entry .what")].every((e) => e.textContent.includes("gradient")));
    const levels = await page.locator(".entry.warning").count();
    await page.getByLabel("Level").selectOption("error");
    await page.getByText("No line fits").waitFor();
    return { before, levels };
  },

  /** The page is hidden while a search goes on that has found its first line: seen again, it finds the others, too. */
  async interrupted_search(page, { url, at, text }) {
    await page.addInitScript(() => {
      const send = window.fetch;
      window.fetch = async (address, options) => {
        const reply = await send(address, options);
        if (window.hits || !String(address).includes("searchText=")) return reply;
        const lines = (await reply.text()).trim().split("\n");
        window.hits = lines.length;
        // The first line has come, the others come when nobody waits for them any more.
        const body = new ReadableStream({ start(stream) {
          stream.enqueue(new TextEncoder().encode(`${lines[0]}\n`));
          options.signal.addEventListener("abort", () => stream.error(options.signal.reason));
        } });
        return new Response(body, { status: reply.status, headers: reply.headers });
      };
    });
    await page.goto(url + at);
    await page.locator(".entry").first().waitFor();
    await page.getByLabel("Search the log").fill(text);
    await page.getByText("1 line", { exact: true }).waitFor();
    await showTab(page, false);
    await showTab(page, true);
    const hits = await page.evaluate(() => window.hits);
    await page.getByText(`${hits} lines`, { exact: true }).waitFor();
    return { hits };
  },

  async trial(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".chart canvas").first().waitFor();
    const charts = await texts(page.locator(".tiles h2"));
    await page.getByLabel("Find a metric").fill("acc");
    await page.waitForFunction(() => document.querySelectorAll(".tiles h2").length === 1);
    await page.getByLabel("Smoothing").selectOption("0.9");
    await page.waitForURL("**smooth=0.9**");
    await page.getByRole("link", { name: "Hyperparameters" }).click();
    await page.locator("dl.facts").waitFor();
    return { charts, hyperparameters: await texts(page.locator("dl.facts dt")) };
  },

  /** An experiment that failed says why, and leads to the log of the trial that did. */
  async failed(page, { url, at }) {
    await page.goto(url + at);
    const says = await page.locator(".mistake").innerText();
    await page.getByRole("link", { name: "Its log" }).click();
    await page.locator(".entry", { hasText: "learning rate is 1e9" }).first().waitFor();
    return { says };
  },

  async configuration(page, { url, at }) {
    await page.goto(url + at);
    await page.locator("pre.source").waitFor();
    const effective = await page.locator("pre.source").innerText();
    await page.getByText("Submitted", { exact: true }).click();
    await page.waitForURL("**form=submitted**");
    return { effective, submitted: await page.locator("pre.source").innerText() };
  },

  /** Activates an experiment, then kills it after a question. */
  async acts(page, { url, at }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: "Activate" }).click();
    await page.getByText(/is active again/).waitFor();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.getByRole("button", { name: /^Actions of experiment/ }).click();
    await page.getByRole("menuitem", { name: "Kill" }).click();
    await page.getByRole("dialog").getByText(/ends at once/).waitFor();
    await page.keyboard.press("Escape");
    const dismissed = await page.getByRole("dialog").count();
    await page.getByRole("button", { name: /^Actions of experiment/ }).click();
    await page.getByRole("menuitem", { name: "Kill" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
    await page.locator(".page-head .state", { hasText: "canceled" }).waitFor();
    return { dismissed };
  },

  /** The documented way: job queue → three dots → Manage job → change → OK. */
  async manages_a_job(page, { url, name, priority }) {
    await page.goto(`${url}jobs`);
    await row(page, name).getByRole("button", { name: /^Actions of job/ }).click();
    await page.getByRole("menuitem", { name: "Manage job" }).click();
    await page.getByLabel("Priority").fill("120");
    const mistake = await page.getByRole("alert").innerText();
    await page.getByLabel("Priority").fill(String(priority));
    await page.getByRole("button", { name: "OK" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await row(page, name).getByText(String(priority), { exact: true }).waitFor();
    return { mistake, reason: await row(page, name).innerText() };
  },

  async cluster(page, { url }) {
    await page.goto(`${url}cluster`);
    await page.locator(".agent .slot.used").first().waitFor();
    await page.locator(".chart canvas").waitFor();
    return { agents: await texts(page.locator(".agent b")), slots: await page.locator(".agent .slot").count(), used: await page.locator(".agent .slot.used").count(), tip: await page.locator(".agent .slot.used").first().getAttribute("title"),
      requested: await texts(page.locator(".agent .requested")), label: await texts(page.locator(".agent .label")) };
  },

  /** Goes through pages on which every text tries to be more than text. */
  async hostile(page, { url, paths, silent, text }) {
    const violations = [];
    page.on("dialog", (dialog) => { violations.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
    // An interface of this machine that comes or goes (other tests make some) ends requests; the page asks again.
    page.on("console", (message) => message.type() === "error" && !message.text().includes("ERR_NETWORK_CHANGED") && violations.push(message.text()));
    page.on("request", (request) => new URL(request.url()).pathname.endsWith("/x") && violations.push(`asked for ${request.url()}`));
    const seen = {};
    for (const path of paths) {
      await page.goto(url + path);
      await page.locator(".panel, .empty, article, .hits").first().waitFor();
      if (!silent.includes(path)) await page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text);
      const state = await page.evaluate(() => ({ hacked: window.hacked, images: [...document.images].map((i) => i.getAttribute("src")), scripts: [...document.scripts].filter((s) => !s.src).length }));
      seen[path] = { hacked: state.hacked ?? null, images: state.images.filter((src) => src === "x"), scripts: state.scripts };
    }
    // Whatever a mistake lets through, the browser refuses: a script in the page, and text that becomes markup.
    const refused = await page.evaluate(() => {
      const script = document.createElement("script");
      const said = [];
      try { script.textContent = "window.hacked=1"; document.body.append(script); } catch { said.push("script"); }
      try { document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hacked=1'>"); } catch { said.push("markup"); }
      return { said, hacked: window.hacked ?? null };
    });
    return { seen, violations: violations.filter((v) => !/Trusted|Content Security|trusted/i.test(v)), refused };
  },

  async hostile_log(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".entry .what", { hasText: "window.hacked=1" }).first().waitFor();
    return { lines: await texts(page.locator(".entry .what")), hacked: await page.evaluate(() => window.hacked ?? null), title: await page.title(), links: await page.locator(".entry a").count() };
  },

  /** While nobody sees the page, nothing is asked; when somebody sees it again, it is. */
  async hidden(page, { url }) {
    await page.clock.install();
    let asked = 0;
    page.on("request", (request) => request.url().includes("/api/v1/") && asked++);
    await page.goto(`${url}cluster`);
    await page.locator(".agent").first().waitFor();
    // A minute; longer if the master answers late, since the page asks anew some time after an answer.
    const during = async (enough) => {
      asked = 0;
      for (let s = 0; s < 60 || (asked < enough && s < 3600); s += 5) await page.clock.runFor(5000);
      return asked;
    };
    const visible = await during(2);
    await showTab(page, false);
    await page.clock.runFor(5000);
    const hidden = await during(0);
    await showTab(page, true);
    const again = await during(2);
    return { visible, hidden, again };
  },

  /** A page whose script cannot be had says so, asks for it no more by itself, and is there once it is loaded again. */
  async not_loaded(page, { url, path, script, heading }) {
    let asked = 0;
    await page.route(script, (route) => { asked++; return route.abort("failed"); });
    await page.goto(url + path);
    await page.getByRole("heading", { name: "Not loaded" }).waitFor();
    const before = asked;
    // The frame is drawn anew with each change of the address.
    for (let i = 0; i < 5; i++) await page.evaluate((n) => new Promise((drawn) => { history.replaceState(null, "", `${location.pathname}?n=${n}`); dispatchEvent(new Event("det:address")); requestAnimationFrame(() => setTimeout(drawn)); }), i);
    const after = asked;
    await page.unroute(script);
    await page.getByRole("button", { name: "Load again" }).click();
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    return { before, after };
  },

  /** A session that ends while somebody types is signed in again in place. */
  async session_ends(page, { url, at, password }) {
    await page.goto(url + at);
    await page.getByLabel("Search by name or ID").fill("half a thou");
    await page.waitForURL("**q=half**");
    const [cookie] = await page.context().cookies();
    await page.context().request.post(new URL("../api/v1/auth/logout", url).href, { headers: { Authorization: `Bearer ${cookie.value}` } });
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await page.keyboard.press("Escape");
    const open = await page.getByRole("dialog").count();
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    return { open, kept: await page.getByLabel("Search by name or ID").inputValue() };
  },

  /** The master goes away and comes back: a line says so, and the page goes on by itself. */
  async away(page, { url }) {
    await page.goto(`${url}cluster`);
    await page.locator(".agent").first().waitFor();
    await page.route("**/api/v1/**", (route) => route.abort("connectionrefused"));
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    await page.getByText("The master does not answer").first().waitFor();
    const shown = await page.locator(".agent").count();
    await page.unroute("**/api/v1/**");
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    await page.getByText("The master does not answer").first().waitFor({ state: "detached" });
    return { shown };
  },

  /** Everything by keyboard: to the first row and into it. */
  async keyboard(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".line a").first().focus();
    const first = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowDown");
    const third = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("k");
    const second = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/det/experiments/*");
    // The list is drawn of what was read before.
    await page.goBack();
    await page.locator(".line a", { hasText: second }).first().waitFor();
    return { first, second, third };
  },

  /** Ctrl-K finds an object of each kind and goes there; "?" shows the keys, "g" and a letter lead to a page. */
  async palette(page, { url, wanted }) {
    await page.goto(url);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const went = {};
    for (const [text, kind] of wanted) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find anything by name or ID" }).fill(text);
      await page.locator("[role=option]", { hasText: kind }).filter({ hasText: text.length > 8 ? text.slice(0, 8) : text }).first().click();
      await page.getByRole("combobox", { name: "Find anything by name or ID" }).waitFor({ state: "detached" });
      went[kind] = await page.evaluate(() => location.pathname.replace(/^.*\/det\//, "") + location.search);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find anything by name or ID" }).fill("job");
    await page.locator("[role=option][aria-selected=true]", { hasText: "Job queue" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Job queue" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: "Cluster" }).waitFor();
    return { went };
  },

  /** Chooses experiments, archives them, and takes that back; asks before what cannot be taken back, with the counts. */
  async bulk(page, { url, at }) {
    await page.goto(`${url}${at}?q=unet&state=completed`);
    await page.locator(".line .pick").first().waitFor();
    await page.getByLabel("Select the rows that are shown").click();
    const toolbar = page.getByRole("toolbar", { name: "Selected experiments" });
    const chosen = await toolbar.locator("b").innerText();
    await toolbar.getByRole("button", { name: /^Archive/ }).click();
    await page.getByText(/(is|are) archived\./).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(/(is|are) unarchived\./).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.goto(url + at);
    await row(page, "wrong-learning-rate").locator("input").click();
    await row(page, "ablation").locator("input").click();
    await toolbar.getByRole("button", { name: /^Stop/ }).click();
    const asked = await page.getByRole("dialog").innerText();
    await page.getByRole("button", { name: "Cancel" }).click();
    return { chosen, asked };
  },

  /** A condition and a column are chosen, kept as a view, and come back by it. */
  async views(page, { url, at, view, refusal }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByLabel("Column 1").selectOption("hp.lr");
    await page.getByLabel("Operator 1").selectOption("=");
    await page.getByLabel("Value 1").fill("1.2");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText(/^1 experiment$/).waitFor();
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByLabel("Find a column").fill("lr");
    await page.getByRole("checkbox", { name: "lr", exact: true }).check();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("columnheader", { name: "lr" }).waitFor();
    const cells = await texts(page.locator(".line").first().getByRole("cell"));
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Save this view" }).click();
    await page.getByLabel("Name", { exact: true }).fill(view);
    // A view that the master refuses to keep is not said to be saved, and what was typed stays.
    const setting = "**/api/v1/users/setting";
    await page.route(setting, (route) => (route.request().method() === "POST" ? route.fulfill({ status: 400, json: { error: { error: refusal } } }) : route.continue()));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(refusal).waitFor();
    const early = [await page.getByText("is saved").count()];
    await page.unroute(setting);
    // Nor one that the master has not kept yet.
    await page.route(setting, async (route) => {
      if (route.request().method() === "POST") early.push(await page.getByText("is saved").count());
      await route.continue();
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("is saved").waitFor();
    await page.unroute(setting);
    const address = page.url();
    await page.goto(url + at);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: view }).click();
    await page.waitForURL(address);
    await page.getByText(/^1 experiment$/).waitFor();
    return { cells, early };
  },

  /** Starts a notebook, sees its log, opens its address, kills it. */
  async notebook(page, { url, name }) {
    await page.goto(`${url}tasks`);
    await page.getByRole("button", { name: "New notebook" }).click();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Slots").fill("many");
    const mistake = await page.getByText("A whole number, 0 or more").count();
    await page.getByLabel("Slots").fill("0");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("heading", { name }).waitFor();
    await page.locator(".entry", { hasText: "Scheduling" }).first().waitFor();
    const open = await page.getByRole("link", { name: "Open the Notebook" }).getAttribute("href");
    await page.getByRole("button", { name: "Kill" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
    await page.getByText("is being killed").waitFor();
    await page.locator(".page-head .state", { hasText: /terminat/ }).waitFor();
    await page.goto(`${url}tasks?ended=1&q=${encodeURIComponent(name)}`);
    await row(page, name).waitFor();
    return { mistake, open };
  },

  /** A workspace and a project in it are made, renamed, archived and taken back; notes of the project are written. */
  async workspaces(page, { url, name }) {
    await page.goto(`${url}workspaces`);
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name }).waitFor();
    const at = page.url();
    await page.getByRole("button", { name: "New project" }).click();
    await page.getByLabel("Name", { exact: true }).fill("ocr");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL("**/det/projects/*");
    await page.getByText("No experiments yet").waitFor();
    await page.goto(at);
    await page.getByRole("button", { name: "Actions of project ocr" }).click();
    await page.getByRole("menuitem", { name: "Archive" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("is no longer archived").waitFor();
    await page.getByRole("button", { name: "Actions of project ocr" }).click();
    await page.getByRole("menuitem", { name: "Notes" }).click();
    await page.getByRole("button", { name: "New page" }).click();
    await page.getByLabel("Name", { exact: true }).fill("plan");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Notes in Markdown").fill("**first** scans, then <b>text</b>");
    await page.reload(); // what was typed is kept
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The notes are saved").waitFor();
    return { bold: await page.locator(".markdown strong").innerText(), html: await page.locator(".markdown b").count(), text: await page.locator(".markdown").innerText() };
  },

  /** A checkpoint becomes a version of a new model, gets an alias, and is downloaded. */
  async registers(page, { url, at, name }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: /^Actions of checkpoint/ }).first().click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Download" }).click()]);
    const file = download.suggestedFilename();
    await page.getByRole("button", { name: /^Actions of checkpoint/ }).first().click();
    await page.getByRole("menuitem", { name: /^Register/ }).click();
    await page.getByLabel("Model", { exact: true }).selectOption("new");
    await page.getByLabel("Name of the new model").fill(name);
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("heading", { name: "Version 1" }).waitFor();
    await page.getByLabel("New alias").fill("production");
    await page.getByRole("button", { name: "Set alias" }).click();
    await page.locator(".chip", { hasText: "production" }).waitFor();
    await page.getByRole("link", { name }).click();
    await page.getByRole("heading", { name }).waitFor();
    return { file, row: await page.locator(".line").first().innerText() };
  },

  /** The profiler's tab shows what a batch consists of, and the machine. */
  async profiler(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".share-list > div").first().waitFor();
    await page.locator(".tiles .chart canvas").first().waitFor();
    return { shares: await texts(page.locator(".share-list > div")), charts: await texts(page.locator(".tiles h2")) };
  },

  /** What a search has found is drawn in four ways; a press on a trial opens it. */
  async search(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".drawn polyline").first().waitFor();
    const lines = await page.locator(".drawn polyline").count();
    const axes = await texts(page.locator(".drawn text.name"));
    await page.getByText("Scatter", { exact: true }).click();
    await page.locator(".scatters circle").first().waitFor();
    const plots = await texts(page.locator(".scatters figcaption b"));
    await page.getByText("Heat map", { exact: true }).click();
    await page.locator(".heat").first().waitFor();
    const fields = await page.locator(".heat").count();
    const across = page.getByLabel("Across");
    const other = await across.locator("option").evaluateAll((options) => options.find((option) => !option.selected).value);
    await across.selectOption(other);
    await page.waitForURL(`**x=${other}**`);
    await page.getByText("Learning curves", { exact: true }).click();
    await page.locator(".chart canvas").waitFor();
    const keys = await page.locator(".legend .key").count();
    // Another metric than that of the search, which a link keeps.
    await page.getByLabel("Metric").selectOption("training.learning_rate");
    await page.locator("figure[aria-label^='learning_rate of']").waitFor();
    await page.reload();
    await page.locator("figure[aria-label^='learning_rate of'] canvas").waitFor();
    await page.getByText("Scatter", { exact: true }).click();
    await page.locator(".scatters circle").first().click();
    await page.waitForURL("**/trials/*");
    return { lines, axes, plots, fields, keys };
  },

  /** The list of metrics that cannot be read says so, is read again, and gets what a trial reports later. */
  async later_metrics(page, { url, at, trial, refusal }) {
    let asked = 0;
    await page.route("**/metrics-stream/metric-names**", (route) => (asked++ ? route.continue() : route.fulfill({ status: 400, json: { error: { error: refusal } } })));
    await page.goto(`${url}${at}/hyperparameters?view=curves`);
    await page.getByText(`The list could not be read: ${refusal}`).waitFor();
    const metric = page.getByLabel("Metric", { exact: true });
    await metric.locator("option", { hasText: "training.early" }).waitFor({ state: "attached" });
    const alerts = await page.getByRole("alert").count();
    const [cookie] = await page.context().cookies();
    await page.context().request.post(new URL(`../api/v1/trials/${trial}/metrics`, url).href, {
      headers: { Authorization: `Bearer ${cookie.value}` },
      data: { group: "training", metrics: { trialId: trial, trialRunId: 1, stepsCompleted: 800, metrics: { avgMetrics: { late: 1 } } } },
    });
    await metric.selectOption("training.late");
    await page.locator("figure[aria-label^='late of'] canvas").waitFor();
    return { alerts, options: await texts(metric.locator("option")) };
  },

  /** The learning curves of 1,000 trials: the reply is made here, so that the drawing is what is tried. */
  async many_curves(page, { url, at, total }) {
    const values = (t) => Array.from({ length: 50 }, (_, i) => ({ batches: i * 100, values: { loss: Math.exp(-i / (5 + (t % 40))) + (t % 7) / 50 }, time: null }));
    const trials = Array.from({ length: total }, (_, t) => ({ trialId: t + 1, hparams: { lr: 10 ** (-(t % 100) / 25), depth: t % 9, kind: ["a", "b"][t % 2] }, data: values(t) }));
    await page.route("**/metrics-stream/trials-sample**", (route) => route.fulfill({ body: `${JSON.stringify({ result: { trials, promotedTrials: [], demotedTrials: [] } })}\n` }));
    await page.goto(`${url}${at}?view=parallel`);
    await page.locator(".drawn polyline").nth(total - 1).waitFor({ state: "attached" });
    const start = Date.now();
    await page.getByText("Learning curves", { exact: true }).click();
    await page.locator(".chart canvas").waitFor();
    return { ms: Date.now() - start, more: await page.locator(".legend").innerText() };
  },

  /** Files, the difference of configurations, notes that a page loaded again does not lose, and the preview of rules. */
  async experiment_parts(page, { url, at, other, done, note }) {
    await page.goto(`${url}${at}/code`);
    await page.locator("pre.numbered", { hasText: "import determined" }).waitFor();
    await page.getByLabel("Difference to experiment").fill(String(other));
    await page.getByText("No difference").waitFor();
    await page.goto(`${url}${at}/configuration`);
    await page.getByLabel("Difference to experiment").fill(String(other));
    await page.locator(".diff .new", { hasText: "resnet-lr-sweep" }).waitFor();
    const gone = await page.locator(".diff .gone", { hasText: "baseline" }).count();
    await page.goto(`${url}experiments/${done}/notes`);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Notes in Markdown").fill(note);
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".markdown li").first().waitFor();
    const items = await page.locator(".markdown li").count();
    await page.goto(`${url}experiments/${done}/checkpoints`);
    await page.locator(".line").first().waitFor();
    await page.getByRole("button", { name: "Rules for keeping them" }).click();
    await page.getByLabel("Best of each trial").fill("0");
    await page.getByLabel("Latest of each trial").fill("0");
    await page.getByText(/^\d checkpoints? with/).waitFor();
    const preview = await page.getByRole("dialog").getByRole("status").innerText();
    await page.getByRole("button", { name: "Cancel" }).click();
    return { gone, items, preview };
  },

  /** Two experiments are compared: curves over each other, hyperparameters, configurations. */
  async compare(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".chart canvas").first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".tiles .legend")[0]?.querySelectorAll(".key").length === 2);
    await page.getByRole("link", { name: "Hyperparameters" }).click();
    await page.locator(".sheet tbody tr").first().waitFor();
    const rows = await texts(page.locator(".sheet tbody th"));
    await page.getByRole("link", { name: "Configuration" }).click();
    await page.locator(".diff .new").first().waitFor();
    return { rows };
  },

  /** A configuration with mistakes is marked while it is typed; a good one with a folder becomes an experiment. What was typed survives a session that ends. */
  async creates(page, { url, at, folder, name, password }) {
    await page.goto(url + at);
    const editor = page.getByLabel("Configuration in YAML");
    await editor.fill(`name: ${name}\nentrypoint: python3 main.py\nsearcher: {name: single, metric: loss}\nresources:\n  slots_per_trial: many\n  slot: 1\n`);
    await page.getByText("2 mistakes").waitFor();
    const mistakes = await texts(page.locator(".mistakes li"));
    const refused = await page.getByRole("button", { name: "Create and start" }).isDisabled();
    await editor.fill("name: [");
    await page.getByText("1 mistake").waitFor();
    // What the schema cannot know, the master says.
    await editor.fill(`name: ${name}\nentrypoint: python3 main.py\nsearcher: {name: single, metric: loss}\nresources: {slots_per_trial: 1, resource_pool: nowhere}\n`);
    await page.locator(".mistakes li", { hasText: "nowhere" }).waitFor();
    const good = `name: ${name}\nentrypoint: python3 main.py\nsearcher: {name: single, metric: loss}\nresources: {slots_per_trial: 1}\nmax_restarts: 0\n`;
    await editor.fill(good);
    await page.getByText("no mistakes").waitFor();
    await page.getByLabel("Folder of the code").setInputFiles(folder);
    await page.getByText("2 files").waitFor();
    const files = await texts(page.locator(".files li .mono"));
    const [cookie] = await page.context().cookies();
    await page.context().request.post(new URL("../api/v1/auth/logout", url).href, { headers: { Authorization: `Bearer ${cookie.value}` } });
    // The page learns of it from the button's request, unless its stream of updates has ended before.
    await page.getByRole("button", { name: "Create and start" }).click({ timeout: 3000 }).catch(() => {});
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const kept = await editor.inputValue() === good;
    await page.getByRole("button", { name: "Create and start" }).click();
    await page.waitForURL("**/det/experiments/*");
    await page.getByRole("heading", { name }).waitFor();
    const id = Number(page.url().split("/").pop());
    await page.goto(`${url}${at}`);
    const forgotten = !(await editor.inputValue()).includes(name);
    return { mistakes, refused, files, kept, id, forgotten };
  },

  /** From a trial: its hyperparameters are fixed, its search is gone, its code stays. */
  async forks(page, { url, at }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: /^Actions of trial/ }).click();
    await page.getByRole("menuitem", { name: "New experiment with these hyperparameters" }).click();
    await page.getByText("no mistakes").waitFor();
    const text = await page.getByLabel("Configuration in YAML").inputValue();
    await page.getByLabel("Create it paused").check();
    await page.getByRole("button", { name: "Create paused" }).click();
    await page.waitForURL("**/det/experiments/*");
    await page.getByRole("link", { name: "Code" }).click();
    await page.locator("pre.numbered", { hasText: "import determined" }).waitFor();
    return { text, id: Number(page.url().split("/").at(-2)) };
  },

  /** A user, a token, a webhook and a template are made; the template is tried without creating anything. */
  async administers(page, { url, user, hook }) {
    await page.goto(`${url}users`);
    await page.getByRole("button", { name: "New user" }).click();
    await page.getByLabel("User name").fill(user);
    await page.getByLabel("Password").fill("a long enough one");
    await page.getByRole("button", { name: "Create" }).click();
    await row(page, user).waitFor();
    await page.getByRole("button", { name: `Actions of user ${user}` }).click();
    await page.getByRole("menuitem", { name: "Deactivate" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(`${user} is active.`).waitFor();
    await page.goto(`${url}tokens`);
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByLabel("What it is for").fill("nightly <b>report</b>");
    await page.getByRole("button", { name: "Create" }).click();
    const token = (await page.getByLabel("Token", { exact: true }).innerText()).trim();
    await page.getByRole("button", { name: "I have kept it" }).click();
    await row(page, "nightly <b>report</b>").waitFor();
    await page.goto(`${url}webhooks`);
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("Name", { exact: true }).fill("chat");
    await page.getByLabel("Address").fill(hook);
    await page.getByRole("button", { name: "Create" }).click();
    await row(page, "chat").waitFor();
    await page.goto(`${url}templates`);
    await page.getByRole("button", { name: "New template" }).click();
    await page.getByLabel("Name", { exact: true }).fill("two-slots");
    await page.getByLabel("Configuration").fill("resources: [");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Configuration").fill("resources:\n  slots_per_trial: 2\n");
    await page.getByRole("button", { name: "Save" }).click();
    await row(page, "two-slots").waitFor();
    await page.getByRole("button", { name: "Actions of template two-slots" }).click();
    await page.getByRole("menuitem", { name: "Try it on a configuration" }).click();
    await page.getByRole("button", { name: "Try" }).click();
    const changes = await page.locator(".diff .new").innerText();
    await page.goto(`${url}about`);
    await page.locator("dl.facts dt").first().waitFor();
    return { token, changes };
  },

  /** A group is made with a member; it gets a role by its menu, and another in a workspace, which is taken and given back. */
  async groups_and_roles(page, { url, group, member, workspace }) {
    await page.goto(`${url}groups`);
    await page.getByRole("button", { name: "New group" }).click();
    await page.getByLabel("Name", { exact: true }).fill(group);
    await page.getByLabel("Find a user").fill(member);
    await page.getByRole("dialog").getByRole("checkbox").first().check();
    await page.getByRole("button", { name: "Create" }).click();
    await row(page, group).waitFor();
    await page.getByRole("button", { name: `Actions of group ${group}` }).click();
    await page.getByRole("menuitem", { name: "Roles" }).click();
    const give = page.getByRole("button", { name: "Give", exact: true });
    const early = [await page.getByLabel("Role", { exact: true }).inputValue(), await page.getByLabel("Where").inputValue(), await give.isDisabled()];
    await page.getByLabel("Role", { exact: true }).selectOption("Viewer");
    early.push(await give.isDisabled());
    await page.getByLabel("Where").selectOption("The whole cluster");
    await give.click();
    await page.getByRole("dialog").locator("li").first().waitFor();
    const given = await page.getByRole("dialog").locator("li").first().innerText();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await page.goto(`${url}groups/roles?workspace=${workspace}`);
    await page.getByRole("button", { name: "Give a role" }).click();
    await page.getByLabel("Who").selectOption(`${group} (group)`);
    await page.getByRole("dialog").getByLabel("Role").selectOption("Editor");
    await page.getByRole("button", { name: "Give", exact: true }).click();
    await row(page, group).waitFor();
    await page.getByRole("button", { name: `Actions of ${group} as Editor` }).click();
    await page.getByRole("menuitem", { name: "Take away" }).click();
    await row(page, group).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await row(page, group).waitFor();
    return { given, early };
  },

  /** A quota is set, refused where its limit is below it, changed, and removed. */
  async quotas(page, { url, user }) {
    await page.goto(`${url}quotas`);
    await page.getByRole("button", { name: "New quota" }).click();
    await page.getByLabel("User", { exact: true }).selectOption(user);
    await page.getByLabel("Slots of their own").fill("4");
    await page.getByLabel("Limit with what is borrowed").fill("2");
    const mistake = await page.getByRole("alert").innerText();
    await page.getByLabel("Limit with what is borrowed").fill("6");
    await page.getByRole("button", { name: "Save" }).click();
    await row(page, `user ${user}`).waitFor();
    const shown = await row(page, `user ${user}`).innerText();
    await page.getByRole("button", { name: `Actions of the quota of user ${user}` }).click();
    await page.getByRole("menuitem", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await row(page, `user ${user}`).waitFor({ state: "detached" });
    return { mistake, shown };
  },

  /** A policy is checked while it is typed, kept over a page that is loaded again, set, and removed. */
  async policies(page, { url, workspace }) {
    await page.goto(`${url}policies?workspace=${workspace}`);
    await page.getByRole("heading", { name: "No policy is set" }).waitFor();
    const editor = page.getByLabel("Policy in YAML");
    await editor.fill("constraints:\n  priority_limit: 100\n");
    await page.locator(".mistakes li").first().waitFor();
    const mistake = await page.locator(".mistakes li").first().innerText();
    const refused = await page.getByRole("button", { name: "Save" }).isDisabled();
    await editor.fill("constraints:\n  priority_limit: 20\n");
    await page.reload();
    await page.getByText("not saved yet").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The policy is set.").waitFor();
    await page.getByRole("heading", { name: "The policy", exact: true }).waitFor();
    await page.reload();
    const kept = await editor.inputValue();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "No policy is set" }).waitFor();
    return { mistake, refused, kept };
  },

  /** The audit log is searched and filtered, a record shows what it changed, and all that fits is saved. */
  async audit(page, { url, kind, text }) {
    await page.goto(`${url}audit`);
    await page.locator(".line").first().waitFor();
    const all = await page.locator(".line").count();
    await page.getByLabel("Kind of object").fill(kind);
    await page.waitForFunction((wanted) => { const lines = [...document.querySelectorAll(".line")]; return lines.length > 0 && lines.every((line) => line.textContent.includes(wanted)); }, ` ${kind} `);
    await page.getByLabel("Search these records").fill(text);
    await page.locator(".line .link", { hasText: "created" }).first().click();
    await page.locator(".diff .new", { hasText: text }).waitFor();
    const gone = await page.locator(".diff .gone").count();
    await page.getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("button", { name: "Export all records that fit" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "As CSV" }).click()]);
    return { all, gone, csv: readFileSync(await download.path(), "utf8") };
  },

  async refused(page, { url, at }) {
    await page.goto(url + at);
    return { says: await page.getByRole("alert").innerText() };
  },

  /** Sums of usage by user and by workspace, and their copies: a table as CSV, a chart as a picture, the master's own file. */
  async usage(page, { url }) {
    await page.goto(`${url}usage?days=7`);
    await row(page, "determined").waitFor();
    await page.locator(".chart canvas").waitFor();
    const figures = await texts(page.locator(".figures dt"));
    await page.getByLabel("By", { exact: true }).selectOption("workspace");
    await row(page, "vision").waitFor();
    const saved = async (menu, item) => {
      await page.getByRole("button", { name: menu }).click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: item }).click()]);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    const table = await saved("Copies of Usage by workspace", "Save as CSV");
    const picture = await saved("Copies of Slot-hours", "Save as PNG");
    const [whole] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV" }).click()]);
    return { figures, name: table.name, csv: table.bytes.toString(), picture: picture.bytes.subarray(1, 4).toString(), whole: readFileSync(await whole.path(), "utf8") };
  },

  /** Somebody changes their own name and password; two that differ are refused. */
  async settings(page, { url, name, password }) {
    await page.goto(`${url}settings`);
    await page.getByLabel("Name that is shown").fill(name);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Your name is changed.").waitFor();
    await page.getByRole("button", { name: new RegExp(`^${name}: theme`) }).waitFor();
    await page.getByLabel("New password").fill(password);
    await page.getByLabel("The same again").fill(`${password}?`);
    const refused = await page.getByRole("button", { name: "Change the password" }).isDisabled();
    await page.getByLabel("The same again").fill(password);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password is changed.").waitFor();
    await page.getByText("Dark", { exact: true }).click();
    return { refused, theme: await page.evaluate(() => document.documentElement.dataset.theme) };
  },

  /** Runs of all experiments in one list: searched, ordered by a hyperparameter, archived and taken back. */
  async runs(page, { url, at }) {
    await page.goto(url + at);
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByText(/^\d+ runs$/).waitFor();
    await page.getByLabel("Search by experiment or run ID").fill("resnet-lr-sweep");
    await page.getByText(/^[4-9] runs$/).waitFor();
    await page.getByRole("button", { name: "lr", exact: true }).click();
    await page.waitForURL("**sort=hp.lr**");
    await page.waitForFunction(() => document.querySelectorAll(".line a").length >= 4);
    const depth = await page.getByRole("columnheader", { name: "depth" }).count();
    await page.getByLabel("Search by experiment or run ID").fill("unet");
    await page.getByText("Completed", { exact: true }).click();
    await page.waitForFunction(() => { const lines = [...document.querySelectorAll(".line")]; return lines.length > 0 && lines.every((line) => line.textContent.includes("unet") && line.textContent.includes("completed")); });
    await page.getByLabel("Select the rows that are shown").click();
    await page.getByRole("toolbar", { name: "Selected runs" }).getByRole("button", { name: /^Archive/ }).click();
    await page.getByText(/(is|are) archived\./).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(/(is|are) unarchived\./).waitFor();
    return { depth };
  },

  /** The last job is dragged before the first one, and moved down again by its menu. */
  async drags_a_job(page, { url }) {
    await page.goto(`${url}jobs`);
    await page.locator(".line").nth(1).waitFor();
    const order = () => page.evaluate(() => [...document.querySelectorAll(".line")].sort((a, b) => Number(a.ariaRowIndex) - Number(b.ariaRowIndex)).map((line) => line.querySelector(".cell:nth-child(2)").firstElementChild.textContent));
    const before = await order();
    const name = before.at(-1);
    await row(page, name).locator(".cell").nth(2).dragTo(page.locator(".line").first(), { targetPosition: { x: 300, y: 3 } });
    await page.waitForFunction((wanted) => document.querySelector('.line[aria-rowindex="2"]')?.textContent.includes(wanted), name);
    const after = await order();
    await page.getByRole("button", { name: `Actions of job ${name}` }).click();
    await page.getByRole("menuitem", { name: "Move down" }).click();
    await page.waitForFunction((wanted) => !document.querySelector('.line[aria-rowindex="2"]')?.textContent.includes(wanted), name);
    return { before, after };
  },

  /** A change that somebody else makes is told by the WebSocket: with a clock that stands still, no other request asks again. */
  async updates(page, { url, name }) {
    await page.clock.install();
    const frames = [];
    page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => frames.push(payload)));
    const told = async (what) => { for (let i = 0; i < 600 && !frames.some((frame) => (what instanceof RegExp ? what.test(frame) : frame.includes(what))); i++) await new Promise((resolve) => setTimeout(resolve, 100)); };
    await page.goto(`${url}models`);
    await page.locator(".line").first().waitFor();
    await page.clock.runFor(1600);
    await told(COMPLETE);
    const [cookie] = await page.context().cookies();
    const reply = await page.context().request.post(new URL("../api/v1/models", url).href, { data: { name }, headers: { Authorization: `Bearer ${cookie.value}` } });
    await told(name);
    // Less in all than the list waits before it asks again by itself.
    for (let i = 0; i < 600 && (await row(page, name).count()) === 0; i++) {
      await page.clock.runFor(10);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { shown: await row(page, name).count(), status: reply.status(), frames: frames.length };
  },

  /** The documentation: from page to page by its list and by links within the text, and to a part of a page by a search. */
  async documentation(page, { url, word }) {
    const refused = [];
    page.on("console", (message) => message.type() === "error" && refused.push(message.text()));
    await page.goto(`${url}docs`);
    await page.getByRole("heading", { level: 1, name: "A guide for researchers" }).waitFor();
    await page.locator("article").getByRole("link", { name: "installation.md" }).first().click();
    await page.waitForURL("**/det/docs/installation");
    await page.getByRole("heading", { level: 1, name: "First installation" }).waitFor();
    await page.getByLabel("Search all pages").fill(word);
    await page.locator(".hits mark").first().waitFor();
    const hits = await page.locator(".hits li").count();
    await page.locator(".hits a", { hasText: "›" }).first().click();
    await page.waitForURL(/\/det\/docs\/[^?]*#/);
    const inSight = await page.waitForFunction(() => {
      const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const top = at?.getBoundingClientRect().top ?? -1;
      return top >= 0 && top < innerHeight;
    }).then(() => true);
    // Every page, what its text says, and where its links lead.
    const names = await page.locator(".docs-nav a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    const parts = {}, links = {};
    for (const name of names) {
      await page.locator(`.docs-nav a[href="${name}"]`).click();
      await page.waitForFunction((path) => location.pathname === path && document.querySelector("article h1"), name);
      const found = await page.evaluate(() => ({
        ids: [...document.querySelectorAll("article [id]")].map((element) => element.id),
        links: [...document.querySelectorAll("article a")].map((a) => new URL(a.href)).filter(({ origin }) => origin === location.origin).map(({ pathname, hash }) => pathname + hash),
        comments: /<!--|-->/.test(document.querySelector("article").textContent.replace(/<!-- bench/g, "")),
      }));
      if (found.comments) refused.push(`${name} shows a comment`);
      [parts[name], links[name]] = [found.ids, found.links];
    }
    const lost = Object.entries(links).flatMap(([from, to]) => to.flatMap((link) => { const [path, hash] = link.split("#"); return parts[path] && (!hash || parts[path].includes(decodeURIComponent(hash))) ? [] : [`${from} → ${link}`]; }));
    return { hits, inSight, pages: names.length, lost, refused };
  },

  /** Plots of a search: by keyboard to a trial, and as a picture with more than one colour. */
  async plots(page, { url, at }) {
    const pictures = {};
    const save = async (view) => {
      const menu = page.locator("figure.drawn").first().getByRole("button", { name: /^Copies of/ });
      await menu.click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Save as PNG" }).click()]);
      const data = readFileSync(await download.path()).toString("base64");
      pictures[view] = await page.evaluate(async (base64) => {
        const image = Object.assign(new Image(), { src: `data:image/png;base64,${base64}` });
        await image.decode();
        const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
        const draw = canvas.getContext("2d");
        draw.drawImage(image, 0, 0);
        const pixels = new Uint32Array(draw.getImageData(0, 0, image.width, image.height).data.buffer);
        return { width: image.width, colours: new Set(pixels).size };
      }, data);
      await menu.click();
      const [table] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Save as CSV" }).click()]);
      pictures[view].rows = readFileSync(await table.path(), "utf8").trim().split("\r\n").length;
    };
    const said = {};
    for (const [view, thing] of [["parallel", "polyline"], ["scatter", "circle"], ["heat", ".heat"]]) {
      await page.goto(`${url}${at}?view=${view}`);
      const figure = page.locator("figure.drawn").first();
      await figure.locator(thing).first().waitFor();
      await save(view);
      await figure.focus();
      await page.keyboard.press("ArrowRight");
      await figure.locator(".over").first().waitFor({ state: "attached" });
      said[view] = await figure.getByRole("status").innerText();
      await page.keyboard.press("Enter");
      await page.waitForURL("**/trials**");
    }
    return { pictures, said };
  },

  /** A list with more rows than a page of the API has is whole; one that cannot be read says so where it is chosen from. */
  async long_lists(page, { url, total, refusal, noPools }) {
    const asked = [];
    await page.route(/\/api\/v1\/(groups\/search|groups)\b/, async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const { offset = Number(query.get("offset") ?? 0), limit = Number(query.get("limit") ?? 0) } = route.request().postDataJSON() ?? {};
      asked.push(offset);
      const groups = Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, i) => ({ group: { groupId: offset + i + 1, name: `group ${String(offset + i + 1).padStart(5, "0")}` }, numMembers: 1 }));
      await route.fulfill({ json: { groups, pagination: { offset, limit, startIndex: offset, endIndex: offset + groups.length, total } } });
    });
    await page.goto(`${url}groups`);
    await page.getByText(`${total.toLocaleString("en")} groups`).waitFor();
    await page.locator(".scroller").evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await row(page, `group ${String(total).padStart(5, "0")}`).waitFor();
    await page.route("**/api/v1/workspaces?**", (route) => route.fulfill({ status: 400, json: { error: { error: refusal } } }));
    await page.goto(`${url}quotas`);
    await page.getByRole("button", { name: "New quota" }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    const says = await page.getByRole("dialog").getByRole("alert").innerText();
    await page.route("**/api/v1/resource-pools*", (route) => route.fulfill({ status: 400, json: { error: { error: noPools } } }));
    await page.goto(`${url}tasks?start=notebook`);
    const pools = await page.locator(".field.wrong", { hasText: "Resource pool" }).innerText();
    await page.goto(`${url}cluster`);
    await page.getByText(noPools).waitFor();
    return { pages: new Set(asked).size, says, pools };
  },

  /** A list of more versions than one request reads: the last one is reached, too. */
  async versions(page, { url, at, total }) {
    await page.goto(url + at);
    await page.getByRole("link", { name: `Versions ${total.toLocaleString("en")}` }).waitFor();
    await row(page, `version ${total} of many`).waitFor();
    await page.getByRole("link", { name: "Notes" }).click();
    await page.getByRole("button", { name: "Edit" }).nth(1).waitFor();
    await page.getByRole("link", { name: /^Versions/ }).click();
    await row(page, `version ${total} of many`).waitFor();
    await page.locator(".scroller").evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await row(page, "version 1 of many").waitFor();
    return { inDocument: await page.locator(".line").count() };
  },

  /** What a trial ran in; then the same beside another trial's, which a link keeps. */
  async environment(page, { url, at, other, same, wanted }) {
    await page.goto(url + at);
    await page.locator(".facts dt", { hasText: "devices" }).waitFor();
    const names = await texts(page.locator(".facts dt"));
    const facts = Object.fromEntries(names.map((name, i) => [name, i]));
    const values = await texts(page.locator(".facts dd"));
    for (const name of names) facts[name] = values[facts[name]];
    await page.getByLabel("Find a package").fill(wanted);
    await row(page, wanted).waitFor();
    await page.getByLabel("Find a package").fill("no such package");
    await page.getByText("No package fits").waitFor();
    await page.getByLabel("Difference to trial").fill(String(other));
    await page.locator(".sheet tbody tr").first().waitFor();
    const read = async () => Object.fromEntries(await page.locator(".sheet tbody tr").evaluateAll((rows) => rows.map((one) => [one.querySelector("th").textContent, [...one.querySelectorAll("td")].map((cell) => cell.textContent)])));
    const differences = await read();
    await page.reload();
    await page.locator(".sheet tbody tr").first().waitFor();
    const kept = await read();
    // Two refusals: the second request is sent when the answer to the first has been drawn.
    let refused = 0;
    const again = `**/api/v1/trials/${other}/environments*`;
    await page.route(again, (route) => { refused++; return route.fulfill({ status: 400, json: { error: { error: "no environments now" } } }); });
    while (refused < 2) await page.evaluate(() => new Promise((drawn) => { document.dispatchEvent(new Event("visibilitychange", { bubbles: true })); requestAnimationFrame(drawn); }));
    const stays = await read();
    await page.unroute(again);
    await page.getByLabel("Difference to trial").fill(String(same));
    await page.getByText("Both ran in the same environment").waitFor();
    await page.getByLabel("Difference to trial").fill("999999");
    await page.getByText("trial '999999' not found").waitFor();
    return { facts, differences, kept, stays };
  },

  /** What is typed in the moment when a field appears stays: no effect of the page has run by then. */
  async typed_at_once(page, { url, at, label, typed }) {
    await page.addInitScript(([name, text]) => {
      const seen = new MutationObserver(() => {
        const field = document.querySelector(`input[aria-label="${name}"]`);
        if (!field) return;
        seen.disconnect();
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, text);
        field.dispatchEvent(new Event("input", { bubbles: true }));
      });
      seen.observe(document, { childList: true, subtree: true });
    }, [label, typed]);
    await page.goto(url + at);
    await page.locator(".diff").waitFor();
    return { kept: await page.getByLabel(label).inputValue() };
  },

  /** Lines of a log by rank: all, and those of one. */
  async ranks(page, { url, at }) {
    await page.goto(url + at);
    await page.locator(".entry .rank", { hasText: "rank 1" }).first().waitFor();
    const all = await texts(page.locator(".entry .rank"));
    await page.getByLabel("Rank").selectOption("Rank 1");
    await page.waitForURL("**rank=1**");
    await page.waitForFunction(() => { const ranks = [...document.querySelectorAll(".entry .rank")]; return ranks.length > 0 && ranks.every((rank) => rank.textContent === "rank 1"); });
    const lines = await texts(page.locator(".entry .what"));
    await page.reload();
    await page.locator(".entry").first().waitFor();
    return { all, lines, kept: await page.getByLabel("Rank").inputValue() };
  },

  /** From an experiment that exists: its configuration is changed, and its code taken. */
  async creates_from(page, { url, at, name }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: /^Actions of experiment/ }).click();
    await page.getByRole("menuitem", { name: "New experiment from this one" }).click();
    const editor = page.getByLabel("Configuration in YAML");
    await page.getByText("no mistakes").waitFor();
    await editor.fill((await editor.inputValue()).replace(/^name: .*$/m, `name: ${name}`));
    await page.getByText("no mistakes").waitFor();
    await page.getByLabel("Create it paused").check();
    await page.getByRole("button", { name: "Create paused" }).click();
    await page.getByRole("heading", { name }).waitFor();
    await page.getByRole("link", { name: "Code" }).click();
    await page.locator("pre.numbered", { hasText: "import determined" }).waitFor();
    return { id: Number(page.url().split("/").at(-2)) };
  },

  /** A master that stops and starts again while somebody writes: a line says so, what was typed stays, and is saved afterwards. */
  async restart(page, { url, at, note, seen }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Notes in Markdown").fill(note);
    writeFileSync(`${seen}.typed`, "");
    await page.getByText("The master does not answer").first().waitFor();
    writeFileSync(`${seen}.away`, "");
    await page.getByText("The master does not answer").first().waitFor({ state: "detached" });
    const kept = await page.getByLabel("Notes in Markdown").inputValue();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The notes are saved").waitFor();
    return { kept, dialogs: await page.getByRole("dialog").count() };
  },

  /** Notes stay where the session ends while they are saved. */
  async session_ends_in_notes(page, { url, at, note, password }) {
    await page.goto(url + at);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Notes in Markdown").fill(note);
    const [cookie] = await page.context().cookies();
    await page.context().request.post(new URL("../api/v1/auth/logout", url).href, { headers: { Authorization: `Bearer ${cookie.value}` } });
    await page.getByRole("button", { name: "Save" }).click({ timeout: 3000 }).catch(() => {});
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const kept = await page.getByLabel("Notes in Markdown").inputValue();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The notes are saved").waitFor();
    return { kept };
  },

  /** A trial with thousands of metrics, some of which are no numbers: the first are drawn, any is found. */
  async many_metrics(page, { url, at, total, name }) {
    await page.goto(url + at);
    await page.getByText(`The first 24 of ${total} are shown`).waitFor();
    const drawn = await page.locator(".tiles h2").count();
    await page.getByLabel("Find a metric").fill(name);
    await page.waitForFunction((wanted) => document.querySelectorAll(".tiles h2").length === 1 && document.querySelector(".tiles h2").textContent === wanted, name);
    await page.locator(".chart .legend").first().waitFor();
    return { drawn, legend: await page.locator(".chart .legend").first().innerText() };
  },

  /** An experiment with thousands of trials: its list is scrolled to the end, and each way of drawing its search works. */
  async many_trials(page, { url, at, total }) {
    await page.goto(`${url}${at}/trials`);
    await page.locator(".line a").first().waitFor();
    const rows = Number(await page.locator("[role=table]").getAttribute("aria-rowcount")) - 1;
    await page.locator(".scroller").evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await page.locator(`.line[aria-rowindex="${total + 1}"] a`).waitFor();
    const inDocument = await page.locator(".line").count();
    await page.goto(`${url}${at}/hyperparameters`);
    await page.locator(".drawn polyline").first().waitFor();
    return { rows, inDocument, drawn: await page.locator(".drawn polyline").count(), of: await page.locator(".panel header .number").innerText() };
  },

  /** With a clock that is years ahead or behind, ages are those of the master. */
  async wrong_clock(page, { url, at, clock }) {
    await page.clock.setSystemTime(new Date(clock));
    await page.goto(url + at);
    await page.locator(".line time").first().waitFor();
    return { ages: await texts(page.locator(".line time")) };
  },

  /** On a phone "More" leads to the pages that its few places do not show. */
  async phone_places(page, { url }) {
    await page.setViewportSize(NARROW);
    await page.goto(url);
    await page.getByRole("button", { name: "More" }).click();
    const typing = await page.evaluate(() => document.activeElement.tagName === "INPUT");
    await page.locator("[role=option]", { hasText: "Webhooks" }).click();
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
    return { typing };
  },

  async master_log(page, { url }) {
    await page.goto(`${url}logs`);
    await page.locator(".entry").first().waitFor();
    return { lines: await page.locator(".entry").count() };
  },

  /** No page is wider than a phone. */
  async narrow(page, { url, paths }) {
    await page.setViewportSize(NARROW);
    const wide = [];
    for (const path of paths) {
      await page.goto(url + path);
      await page.locator(".panel, .empty, article, .hits").first().waitFor();
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(path);
    }
    return { wide };
  },

  /** A choice of a theme holds after the page is loaded again. */
  async theme(page, { url }) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(url);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: /theme and sign out/ }).click();
    await page.getByRole("menuitem", { name: "Dark theme" }).click();
    const dark = await ground();
    await page.reload();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    return { light, dark, kept: await ground() };
  },

  /** What axe finds on each page; in the dark theme the colours only, since all else is the same. */
  async accessible(page, { url, paths, dark }) {
    const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
    const found = [];
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      for (const path of colorScheme === "dark" ? dark : paths) {
        await page.goto(url + path);
        await page.locator(".panel, .empty, article, .hits").first().waitFor();
        await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector("[aria-busy=true]"));
        await page.evaluate(axe);
        const runOnly = colorScheme === "dark" ? { type: "rule", values: ["color-contrast"] } : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
        const { violations } = await page.evaluate((only) => window.axe.run(document, { runOnly: only }), runOnly);
        found.push(...violations.map((v) => `${path} ${colorScheme} ${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join(" ").slice(0, 200)}`).join(" | ")}`));
      }
    }
    return { found };
  },

  /** How soon something is there, cold, from a master on this machine. */
  async times(page, { url }) {
    await page.goto(url);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    return page.evaluate(() => {
      const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
      const files = performance.getEntriesByType("resource").filter((r) => /\.(js|css)$/.test(r.name));
      return { paint, files: files.length, bytes: files.reduce((sum, r) => sum + r.encodedBodySize, 0) };
    });
  },
};

await serveBrowser((page, wanted) => scenarios[wanted.scenario](page, wanted));
