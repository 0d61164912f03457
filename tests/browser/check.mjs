// Opens a page made by manometer and compares what it shows with the JSON in it, and that with the export.
// usage: node check.mjs MODULES report|comparison PAGE EXPORT|- PICTURES|""
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkCharts } from "./charts.mjs";
import { checkFigures } from "./figures.mjs";
import { checkScript } from "./script.mjs";

const [modules, kind, file, exported, pictures] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "package.json"))("playwright-core");
const profile = mkdtempSync(join(tmpdir(), "manometer-browser-"));
const address = pathToFileURL(file).href;

const context = (options) => chromium.launchPersistentContext(mkdtempSync(join(profile, "p")), {
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
  ...options,
});

/** A page whose console, errors and requests are written down. */
async function open(browser) {
  const page = browser.pages()[0] ?? await browser.newPage();
  const seen = { console: [], errors: [], requests: [] };
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(address);
  return { page, seen };
}

function silent(seen, where) {
  assert.deepEqual(seen.console, [], `${where}: the console is not empty`);
  assert.deepEqual(seen.errors, [], `${where}: errors`);
  assert.deepEqual(seen.requests.filter((url) => url !== address && !url.startsWith("data:")), [], `${where}: requests`);
}

/** What people who hear the page, have a narrow screen or print it rely on. */
async function readable(page, where) {
  const found = await page.evaluate(() => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const ids = all("[id]").map((element) => element.id);
    return {
      headings: all("h1").length,
      unnamed: all("svg[role=img]").filter((svg) => !svg.querySelector("title")?.textContent || !svg.querySelector("desc")).length,
      heads: all("th:not([scope])").length,
      twice: ids.filter((id, index) => ids.indexOf(id) !== index),
      dangling: all("a[href^='#']").map((a) => a.getAttribute("href").slice(1)).filter((id) => !document.getElementById(id)),
      unlabelled: all("[aria-labelledby]").filter((element) => !document.getElementById(element.getAttribute("aria-labelledby"))).length,
    };
  });
  assert.deepEqual(found, { headings: 1, unnamed: 0, heads: 0, twice: [], dangling: [], unlabelled: 0 }, where);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${where}: the page is ${wide} px wider than its window`);
}

/** Letters of charts as they are seen: none is too small to be read. */
async function legible(page, where) {
  const small = await page.evaluate((least) => [...document.querySelectorAll("main *")]
    .filter((element) => element.getClientRects().length > 0 && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((element) => {
      const chart = element.closest("svg.chart");
      const scale = chart ? chart.getBoundingClientRect().width / chart.viewBox.baseVal.width : 1;
      return [parseFloat(getComputedStyle(element).fontSize) * scale, element.textContent.trim().slice(0, 40)];
    })
    .filter(([size]) => size < least), 9);
  assert.deepEqual(small, [], `${where}: letters of less than 9 px`);
}

/** Opens or folds every cell. */
const unfold = (page, open = true) => page.evaluate((open) => {
  for (const details of document.querySelectorAll("details:not(.whole-plan)")) details.open = open;
}, open);

async function pageWith(options, where, check) {
  const browser = await context(options);
  try {
    const { page, seen } = await open(browser);
    await check(page);
    silent(seen, where);
  } finally {
    await browser.close();
  }
}

const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("manometer-data").textContent));
const embedded = () => {
  const text = readFileSync(file, "utf8").split('id="manometer-data">')[1].split("</script>")[0];
  return JSON.parse(text);
};

try {
  await pageWith({ viewport: { width: 1280, height: 900 } }, "with a script", async (page) => {
    assert.deepEqual(await data(page), embedded());
    // Folded, as people first see it.
    if (pictures) await page.screenshot({ path: `${pictures}-folded.png`, fullPage: true });
    await unfold(page);
    const count = await checkFigures(page, embedded(), kind);
    if (exported !== "-") {
      assert.deepEqual(embedded(), JSON.parse(readFileSync(exported, "utf8")), "the page's data is the export");
    }
    await readable(page, "wide");
    if (pictures) {
      // Browsers fall over pictures of tens of thousands of lines.
      const height = Math.min(8000, await page.evaluate(() => document.documentElement.scrollHeight));
      await page.screenshot({ path: `${pictures}-light.png`, fullPage: true, clip: { x: 0, y: 0, width: 1280, height } });
    }
    await unfold(page, false);
    if (kind === "report") await checkScript(page);
    await checkCharts(page);
    console.log(`${kind}: ${count} figures are those of the JSON`);
  });
  await pageWith({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } }, "without a script", async (page) => {
    await unfold(page);
    const count = await checkFigures(page, embedded(), kind);
    console.log(`${kind} without JavaScript: ${count} figures are those of the JSON`);
  });
  for (const colorScheme of ["light", "dark"]) {
    const where = `${colorScheme} and narrow`;
    await pageWith({ colorScheme, viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }, where, async (page) => {
      await readable(page, `${where}, folded`);
      if (pictures) await page.screenshot({ path: `${pictures}-${colorScheme}-narrow.png`, fullPage: true, clip: { x: 0, y: 0, width: 390, height: 5000 } });
      await unfold(page);
      await readable(page, `${where}, open`);
      await legible(page, where);
      const [ink, paper] = await page.evaluate(() => {
        const style = getComputedStyle(document.body);
        const sum = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((all, part) => all + Number(part), 0);
        return [sum(style.color), sum(style.backgroundColor)];
      });
      assert.ok((colorScheme === "dark" ? ink - paper : paper - ink) > 450, `${where}: letters stand out`);
    });
  }
  await pageWith({ colorScheme: "dark", viewport: { width: 1280, height: 900 } }, "dark", async (page) => {
    if (pictures) await page.screenshot({ path: `${pictures}-dark.png`, fullPage: true });
  });
  await pageWith({ viewport: { width: 1280, height: 900 } }, "printed", async (page) => {
    const pdf = await page.pdf({ preferCSSPageSize: true });
    writeFileSync(`${file}.pdf`, pdf);
    if (pictures) writeFileSync(`${pictures}.pdf`, pdf);
    await page.emulateMedia({ media: "print" });
    const hidden = await page.evaluate(() => [...document.querySelectorAll(".cell")].filter((cell) => !cell.offsetHeight).length);
    assert.equal(hidden, 0, "every cell is printed");
  });
} finally {
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
