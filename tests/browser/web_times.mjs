// Measures the web interface in a real browser, for bench/ask_web.py. `what` names a measurement, the rest of the argument is what it needs; the
// result has numbers only. Times are taken within the page, so that what playwright adds is in none of them.
import { inBrowser } from "./browser.mjs";

const FRAMES = 600;
const SCROLLED_PX = 90;
/** What has not come by then will not come. */
const LIMIT_S = 60;
const SHOWN_MAX = 600;

const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The text of a page, for an error. */
const textOf = (page) => Promise.race([
  page.evaluate((most) => document.body.innerText.replace(/\s+/g, " ").slice(0, most), SHOWN_MAX).catch((error) => `nothing that can be read (${error.message})`),
  after(5000).then(() => "nothing that can be read: its scripts do not rest"),
]);

/** Waits for something with a name. When it does not come, the error says what was waited for, and what the page shows instead. */
async function within(page, what, promise, seconds = LIMIT_S) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => void textOf(page).then((text) => reject(new Error(`${what} did not come within ${seconds} s. ${page.url()} shows: ${text}`))), seconds * 1000);
  });
  promise.catch(() => {}); // of what comes too late nobody asks any more
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const came = (page, what, locator) => within(page, what, locator.first().waitFor());

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const at95 = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length * 0.95)];

/** Goes to a page of the interface as a link does, and returns how long it takes, in ms, until something that the selector finds has the text and is
 * painted. The page before has no such text. */
const goUntil = (page, path, selector, text) => within(page, `“${text}” in ${selector} of ${path}`, page.evaluate(([to, wanted, some]) => new Promise((resolve) => {
  const base = new URL(".", document.baseURI);
  const found = () => [...document.querySelectorAll(wanted)].some((element) => element.textContent.includes(some));
  const painted = () => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)));
  const begin = performance.now();
  history.pushState(null, "", new URL(to, base));
  dispatchEvent(new Event("det:address"));
  const look = () => (found() ? painted() : requestAnimationFrame(look));
  look();
}), [path, selector, text]));

const measurements = {
  /** Cold: each run is a context of its own, which has nothing in its cache. */
  async start(page, { url, runs, cookies }) {
    const paints = [], ready = [], bytes = [];
    for (let i = 0; i < runs; i++) {
      const context = await page.context().browser().newContext({ viewport: { width: 1280, height: 900 } });
      await context.addCookies(cookies.map((cookie) => ({ ...cookie, url: new URL(url).origin })));
      const fresh = await context.newPage();
      // Ready: the lists of the page have come, and the thread that would answer a press has had a moment for it.
      await fresh.addInitScript(() => {
        const look = () => {
          const isReady = document.querySelector("h1") && document.querySelector(".line, .empty") && !document.querySelector(".waiting");
          if (isReady) requestAnimationFrame(() => setTimeout(() => { window.readyAt = performance.now(); }));
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
      await fresh.goto(url);
      await within(fresh, "the first paint and the lists of the first page", fresh.waitForFunction(() => window.readyAt && performance.getEntriesByName("first-contentful-paint").length > 0));
      const found = await fresh.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, ready: window.readyAt, bytes: performance.getEntriesByType("resource").reduce((sum, r) => sum + r.encodedBodySize, 0) }));
      paints.push(found.paint);
      ready.push(found.ready);
      bytes.push(found.bytes);
      await context.close();
    }
    return { paints, ready, bytes: median(bytes) };
  },

  /** From a press until the curves of all trials are painted; the scripts are there, as for whoever has seen one before. */
  async chart(page, { url, warm, path, runs, series }) {
    const times = [];
    for (let i = 0; i < runs; i++) {
      await page.goto(url + warm);
      await came(page, "a chart of a small experiment", page.locator(".chart canvas"));
      times.push(await goUntil(page, path, ".chart .legend", `and ${series - 24} more`));
    }
    return { times };
  },

  /** What the page's thread works for each frame while the list is scrolled. */
  async list(page, { url, path, total }) {
    await page.goto(url + path);
    await came(page, `“${total.toLocaleString("en")} runs” above the list`, page.getByText(new RegExp(`^${total.toLocaleString("en")} `)));
    await came(page, "a row of the list", page.locator(".line a"));
    const found = await within(page, `the end of ${FRAMES} frames`, page.locator(".scroller").evaluate((element, [frames, px]) => new Promise((resolve) => {
      const work = [], between = [];
      let last = 0, blank = 0;
      const channel = new MessageChannel();
      let started = 0;
      // A message that is posted in a frame arrives after the frame was drawn.
      channel.port1.onmessage = () => work.push(performance.now() - started);
      const step = (now) => {
        if (last) between.push(now - last);
        [last, started] = [now, now];
        channel.port2.postMessage(0);
        blank += element.querySelector(".blank") ? 1 : 0;
        element.scrollTop += px;
        if (between.length < frames) requestAnimationFrame(step);
        else setTimeout(() => resolve({ work, between, blank }));
      };
      requestAnimationFrame(step);
    }), [FRAMES, SCROLLED_PX]));
    return { work: at95(found.work), between: at95(found.between), blank: found.blank / FRAMES };
  },

  /** From the request of a change until it is on the screen: a model's name, which updates tell, and a line of a log, which the page follows. */
  async event(page, { url, runs, log, line }) {
    const until = (path, body, text, selector) => within(page, `“${text}” in ${selector}`, page.evaluate(([to, what, wanted, where]) => new Promise((resolve, reject) => {
      const begin = performance.now();
      const look = () => ([...document.querySelectorAll(where)].some((element) => element.textContent.includes(wanted)) ? setTimeout(() => resolve(performance.now() - begin)) : requestAnimationFrame(look));
      fetch(new URL(`../${to}`, document.baseURI), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) }).then((reply) => (reply.ok ? look() : reject(new Error(`${to}: ${reply.status}`))), reject);
    }), [path, body, text, selector]));
    let complete = false;
    page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => { complete ||= /"complete": ?true/.test(payload); }));
    await page.goto(`${url}models`);
    await came(page, "“No models yet”", page.getByText("No models yet"));
    const subscribed = async () => { while (!complete) await after(50); };
    await within(page, "the whole answer to the subscription of updates", subscribed());
    const told = [];
    for (let i = 0; i < runs; i++) told.push(await until("api/v1/models", { name: `model number ${i}` }, `model number ${i}`, ".line"));
    await page.goto(url + log);
    await came(page, "“live” above the log", page.getByText("live", { exact: true }));
    const followed = [];
    for (let i = 0; i < runs; i++) followed.push(await until("api/v1/task/logs", { logs: [{ ...line, log: `line number ${i} of many\n`, timestamp: new Date().toISOString() }] }, `line number ${i} of many`, ".entry"));
    return { told, followed };
  },

  /** Opens a long log at its end, and finds a word in it; before, another log was open, so that the scripts are there. */
  async log(page, { url, warm, path, runs, last, word }) {
    const opened = [], found = [];
    for (let i = 0; i < runs; i++) {
      await page.goto(url + warm);
      await came(page, "the log that is opened first", page.locator(".entry, .empty"));
      opened.push(await goUntil(page, path, ".entry", last));
      await came(page, "the field that searches the log", page.getByLabel("Search the log"));
      found.push(await within(page, `a log with lines that hold “${word}” only`, page.evaluate((wanted) => new Promise((resolve) => {
        const field = document.querySelector("input[type=search]");
        const begin = performance.now();
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, wanted);
        field.dispatchEvent(new Event("input", { bubbles: true }));
        const look = () => {
          const entries = [...document.querySelectorAll(".entry .what")];
          if (entries.length && entries.every((entry) => entry.textContent.includes(wanted))) setTimeout(() => resolve(performance.now() - begin));
          else requestAnimationFrame(look);
        };
        look();
      }), word)));
    }
    return { opened, found };
  },

  /** What the page's heap holds while it follows something, after each garbage collection. */
  async memory(page, { url, path, ready, seconds, every, from }) {
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable");
    const used = async () => {
      await devtools.send("HeapProfiler.collectGarbage");
      const { metrics } = await devtools.send("Performance.getMetrics");
      const of = (name) => metrics.find((metric) => metric.name === name).value;
      return { heap: of("JSHeapUsedSize") / 1e6, nodes: of("Nodes") };
    };
    await page.goto(url + path);
    await came(page, ready, page.locator(ready));
    const samples = [];
    const begin = Date.now();
    while (Date.now() - begin < seconds * 1000) {
      await after(every * 1000);
      if (Date.now() - begin >= from * 1000) samples.push({ at: (Date.now() - begin) / 1000, ...(await used()) });
    }
    return { samples };
  },

  /** What an open dashboard asks the master for in a time, once it has seen that nothing changes: each request with how often. */
  async asks(page, { url, seconds, settled }) {
    const asked = {};
    await page.goto(url);
    await came(page, "the lists of the first page", page.locator(".line, .empty"));
    await after(settled * 1000);
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url());
      if (request.method() === "GET") asked[pathname + search] = (asked[pathname + search] ?? 0) + 1;
    });
    await after(seconds * 1000);
    return { asked };
  },
};

await inBrowser((page, wanted) => measurements[wanted.what](page, wanted));
