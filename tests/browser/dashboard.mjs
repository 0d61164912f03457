// The dashboard in a headless browser, against a real service: start, watch, report, compare, stop, resume.
// usage: node dashboard.mjs MODULES ADDRESS TOKEN ARRAY MANOMETER STATE PICTURES|""
// ARRAY is a file with what `manometer array` printed, STATE the service's directory.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [modules, address, token, arrayFile, manometer, state, pictures] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const profile = mkdtempSync(join(tmpdir(), "manometer-dashboard-"));
/** A guard against hangs; nothing here is a limit of performance. */
const PATIENCE_MS = 60_000;

/** Ends after five minutes of real time unless it is stopped. The rate leaves processors to the browser and the service. */
const LONG = `name: long
targets: {t: "null:"}
workloads: {w: {ops: {read: 70%, write: 30%}, queue_depth: 4, block_size: 64KiB, rate: 2000/s}}
stages: {warm_up: 1s, measure: {at_least: 5m, at_most: 5m}}
`;
/** The same from three agents of the service's host. */
const FLEET = `${LONG.replace("name: long", "name: fleet")}fleet: {local: 3}
`;
/** A check of the simulated array, on which it creates and removes what it needs. */
function ofArray() {
  const printed = readFileSync(arrayFile, "utf8");
  const one = (pattern) => printed.match(pattern)[1];
  const port = (name) => Number(one(new RegExp(`${name} (\\d+)`)));
  return {
    array: { management: one(/management +https:\/\/(\S+)/), token: one(/token +(\S+)/), tls_fingerprint: one(/fingerprint +(\S+)/) },
    mount_port: port("mount"), portmap_port: port("portmap"), s3_port: port("s3"),
    duration: "1s", workers: 1, lanes: 2, connections: 1, block_size: "64KiB", object_size: "128KiB", dataset: "8MiB", no_probe: true,
  };
}
/** A check beside the service that is killed while it loads what it created on the array; returns the run's id. */
async function killedCheck({ array, mount_port, portmap_port, s3_port }) {
  const journal = join(state, "journal");
  const known = new Set(readdirSync(journal));
  const tokenFile = join(profile, "token");
  writeFileSync(tokenFile, array.token);
  const flags = [`--management=${array.management}`, `--tls-fingerprint=${array.tls_fingerprint}`, `--token-file=${tokenFile}`,
    `--mount-port=${mount_port}`, `--portmap-port=${portmap_port}`, `--s3-port=${s3_port}`, `--journal-dir=${journal}`,
    `--results=${join(state, "results.sqlite")}`, "--duration=5m", "--workers=1", "--lanes=2", "--dataset=8MiB"];
  const check = spawn(manometer, ["check", ...flags], { stdio: "ignore" });
  const exit = once(check, "exit");
  for (;;) {
    assert.equal(check.exitCode, null, "the check ended by itself");
    const own = readdirSync(journal).find((name) => !known.has(name));
    if (own && readFileSync(join(journal, own), "utf8").includes('"scheme":"nfs"')) {
      check.kill("SIGKILL");
      await exit;
      return own.replace(/\.jsonl$/, "");
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}
/** What a killed run left on an array, as the service lists it. */
const leftover = (array) => ({ run: "abcdefgh", name: "check", state: "interrupted", host: "here", array, unreadable: null, items: [
  { what: "file system manometer-abcdefgh", kind: "file-system", on_array: true, state: "created", since: null },
  { what: "bucket manometer-abcdefgh-0", kind: "bucket", on_array: true, state: "intended", since: null },
] });
/** Simulated minutes that take moments. */
const SHORT = `name: short
targets: {t: "sim:?latency=exponential 1ms&bandwidth=400MB/s&noise=2%"}
workloads: {read: {ops: read, block_size: 64KiB}, mixed: {ops: {read: 50%, write: 50%}, block_size: 64KiB}}
defaults: {target: t}
stages: {warm_up: 5s, measure: {at_least: 60s, at_most: 4m}}
`;
const FAULTY = SHORT.replace("block_size: 64KiB}, mixed", "block_sice: 64KiB}, mixed");
/** A page of made-up intervals, as the service sends them: measuring 100,000 takes minutes even on a simulated target. */
function madeUp(from, count, all) {
  const intervals = Array.from({ length: Math.min(count, all - from) }, (_, at) => {
    const interval = from + at;
    const rate = 1e9 * (1 + 0.1 * Math.sin(interval / 3000) + 0.05 * Math.sin(interval * 12.9898));
    return { interval, start_s: interval, length_s: 1, ops: [{ op: "read", ops_per_s: rate / 65536, bytes_per_s: rate, failed: 0,
      p50_ns: 1e6, p99_ns: 4e6 * (1 + 0.2 * Math.sin(interval * 78.233)), p999_ns: 8e6, max_ns: interval === 77_777 ? 9e9 : 2e7 }] };
  });
  return from + count < all ? { intervals, next: `/api/v3/runs/x/intervals?from=${from + count}&limit=${count}` } : { intervals };
}

/** Agents in each state, as the service lists them. */
function madeUpAgents() {
  const ops = [{ op: "read", ops_per_s: 20_000, bytes_per_s: 1.31e9, ok: 20_000, failed: 0, bytes: 1.31e9, retries: 0,
    mean_ns: 2e5, p50_ns: 2e5, p99_ns: 9e5, p999_ns: 2e6, max_ns: 4e6 }];
  const now = new Date().toISOString();
  return [["node1", "active", null], ["node2", "idle", null], ["node3", "lost", { at_s: 12, why: "no news for 10 s" }]].map(
    ([name, state, lost], at) => ({
      id: `abcdefgh/${name}`, run: "abcdefgh", name, state, version: "1", last_seen: now,
      last_interval: { cell: 0, stage: "measure", trial: 0, interval: 7, start_s: 7, length_s: 1, ops },
      last_cell: { cell: 0, started_ns: at * 40_000, clock: { offset_ns: -3_200_000, uncertainty_ns: 45_000, drift_ppm: 0, round_trip_ns: 90_000 }, lost },
      facts: { kernel: "6.1.0-18-amd64", "cpu.model": "AMD EPYC 7742 64-Core Processor", "cpu.usable": "64" },
    }));
}

async function api(path, init = {}) {
  const response = await fetch(`${address}/api/v3${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}
const postJson = (path, body) =>
  api(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
const post = async (experiment) =>
  (await api("/runs", { method: "POST", body: experiment, headers: { "content-type": "application/yaml" } })).id;
async function ended(id) {
  for (;;) {
    const { state } = await api(`/runs/${id}`);
    if (!["queued", "running"].includes(state)) return state;
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** A browser with one page that has the token; what the page logs and asks for is written down. */
async function browse(options, check) {
  const browser = await chromium.launchPersistentContext(mkdtempSync(join(profile, "p")), {
    executablePath: process.env.CHROMIUM,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
    ...options,
  });
  browser.setDefaultTimeout(PATIENCE_MS);
  const seen = { console: [], errors: [], foreign: [] };
  browser.on("console", (message) => {
    // The browser itself notes each answer of 4xx; for an experiment with faults, 422 is the answer.
    const isFault = message.location().url.endsWith("/experiments/validate") && message.text().includes("status of 422");
    if (!isFault) seen.console.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  browser.on("weberror", (error) => seen.errors.push(String(error.error())));
  browser.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${address}/`) && !url.startsWith(`blob:${address}`) && !url.startsWith("data:")) seen.foreign.push(url);
  });
  try {
    const page = browser.pages()[0] ?? await browser.newPage();
    await check(page).catch(async (error) => {
      // What a person would have seen instead.
      const shown = await page.locator("body").innerText({ timeout: 5000 }).catch((reason) => `(${reason.message})`);
      console.error(`${page.url()} showed:\n${shown.slice(0, 4000)}\n${JSON.stringify(seen)}`);
      throw error;
    });
    assert.deepEqual(seen, { console: [], errors: [], foreign: [] });
  } finally {
    await browser.close();
  }
}

/** Opens the dashboard with the token; `sessionStorage` is the tab's. */
async function open(page, hash = "#/") {
  await page.addInitScript((token) => {
    // Sandboxed frames have no storage.
    if (origin !== "null") sessionStorage.setItem("manometer-token", token);
  }, token);
  await page.goto(`${address}/${hash}`);
}
const show = (page, hash) => page.evaluate((hash) => { location.hash = hash; }, hash);
const write = (page, text) => page.locator("#experiment").fill(text);
const heading = (page, text) => page.getByRole("heading", { level: 1, name: text }).waitFor();

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}-${name}.png` });
}

/** Nothing serious for axe, and no scrolling to the side. */
async function accessible(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${where}: ${wide} px wider than its window`);
  // Evaluated, not added as an element: the page's policy allows no inline script.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document, { iframes: false })).violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).slice(0, 3).join(" ")}`));
  assert.deepEqual(found, [], where);
}

/** The path that issue 12 describes, by mouse. */
async function tour(page) {
  await page.goto(`${address}/`);
  await page.getByLabel("The token that the service").fill("not the token of this service");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("This is not the token").waitFor();
  await accessible(page, "the token");
  await page.getByLabel("The token that the service").fill(token);
  await page.getByRole("button", { name: "Continue" }).click();
  await heading(page, "Runs");
}

try {
  // 401 is an answer that browsers log themselves; everything else must be silent.
  {
    const browser = await chromium.launchPersistentContext(mkdtempSync(join(profile, "p")), {
      executablePath: process.env.CHROMIUM, headless: true, args: ["--no-sandbox", "--disable-gpu"],
    });
    const page = browser.pages()[0];
    await tour(page);
    assert.equal(await page.evaluate(() => sessionStorage.getItem("manometer-token")), token);
    assert.equal(await page.evaluate(() => localStorage.length), 0, "the token is in the tab only");
    await browser.close();
  }

  let first;
  await browse({ viewport: { width: 1280, height: 900 } }, async (page) => {
    await open(page);
    // A fault shows at its line while typing.
    await page.getByRole("link", { name: "Start an experiment" }).first().click();
    await heading(page, "Start an experiment");
    await write(page, FAULTY);
    await page.locator(".faults li").first().waitFor();
    assert.equal(await page.locator(".gutter .faulty").textContent(), "3");
    assert.match(await page.locator(".faults li").first().textContent(), /line 3.*block_sice/s);
    assert.ok(await page.getByRole("button", { name: "Start", exact: true }).isDisabled());
    await picture(page, "fault");
    await accessible(page, "a fault");
    await page.getByRole("button", { name: /line 3/ }).first().click();
    assert.equal(await page.evaluate(() => {
      const field = document.querySelector("#experiment");
      return field.value.slice(field.selectionStart, field.selectionEnd);
    }), "block_sice");
    // An example of the repository is valid.
    await page.getByLabel("Example").selectOption("demo-sim");
    await page.getByText("Valid.").waitFor();
    await picture(page, "editor");
    await accessible(page, "the editor");
    await write(page, SHORT);
    await page.getByText("Valid.").waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await heading(page, "short");
    await page.getByRole("link", { name: "Report", exact: true }).waitFor();
    first = page.url().split("/").at(-1);
    assert.equal(await ended(first), "finished");
    await page.getByText("Compare with the previous run").waitFor();
    await page.locator(".u-legend").first().waitFor();
    await page.getByText("cell 2: finished").waitFor();
    await picture(page, "finished");
    await accessible(page, "a finished run");
    // Its report is the same page, in a frame.
    await page.getByRole("link", { name: "Report", exact: true }).click();
    const report = page.frameLocator("iframe.report");
    await report.getByRole("heading", { level: 1 }).waitFor();
    assert.match(await report.locator("h1").textContent(), /short/);
    assert.equal(await page.frames()[1].evaluate(() => origin), "null", "a report has an origin of its own");
    await picture(page, "report");
    await accessible(page, "a report");
    const saving = page.waitForEvent("download");
    await page.getByRole("link", { name: "Save as a file" }).click();
    const saved = readFileSync(await (await saving).path(), "utf8");
    const sent = await (await fetch(`${address}/api/v3/runs/${first}/report`, { headers: { authorization: `Bearer ${token}` } })).text();
    assert.equal(saved, sent, "the saved file is the report");

    // The same again, compared.
    await show(page, `#/start?from=${first}`);
    await page.getByText("Valid.").waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await heading(page, "short");
    await page.getByRole("button", { name: "Compare with the previous run" }).click();
    await heading(page, /compared with/);
    await page.frameLocator("iframe.report").getByRole("heading", { level: 1 }).waitFor();
    await picture(page, "comparison");
    await accessible(page, "a comparison");
    await show(page, "#/history/short");
    await page.locator("svg.history").first().waitFor();
    await picture(page, "history");
    await accessible(page, "a history");
  });

  // Live: intervals of real time; stopped once, and a second one twice.
  await browse({ viewport: { width: 1280, height: 1100 } }, async (page) => {
    await open(page, "#/start");
    await write(page, LONG);
    await page.getByText("Valid.").waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await heading(page, "long");
    const time = page.locator(".u-legend .u-series").first();
    await time.waitFor();
    // The chart grows: its data comes from the event stream.
    const points = () => page.evaluate(() => Number(document.querySelector(".plot")?.getAttribute("data-points")));
    await page.waitForFunction(() => Number(document.querySelector(".plot")?.getAttribute("data-points")) >= 6);
    assert.ok(await points() >= 6);
    await page.getByText("What may limit it now").waitFor();
    await picture(page, "live");
    await accessible(page, "a live run");
    const id = page.url().split("/").at(-1);
    await page.getByRole("button", { name: "Stop" }).click();
    assert.equal(await ended(id), "interrupted");
    await page.getByText("the run is interrupted").waitFor();

    const twice = await post(LONG.replace("name: long", "name: twice"));
    await show(page, `#/runs/${twice}`);
    await heading(page, "twice");
    await page.locator(".plot").first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    const again = page.getByRole("button", { name: "Stop at once" });
    // It may have ended with its interval before the second request.
    await Promise.race([again.click().catch(() => undefined), ended(twice)]);
    assert.equal(await ended(twice), "interrupted");

    // Resumed by its button and stopped, then by its key: each time it measures and its events start again.
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await page.getByText("the run is running").waitFor();
    await page.locator(".plot").first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    assert.equal(await ended(twice), "interrupted");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await picture(page, "interrupted");
    await accessible(page, "an interrupted run");
    await page.keyboard.press("u");
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await page.getByText("What may limit it now").waitFor();
    await api(`/runs/${twice}/stop`, { method: "POST" });
    assert.equal(await ended(twice), "interrupted");
  });

  // A schedule: added from the editor, started now, compared, paused, removed.
  await browse({ viewport: { width: 1280, height: 900 } }, async (page) => {
    await open(page, "#/start");
    await write(page, SHORT.replace("name: short", "name: nightly"));
    await page.getByText("Valid.").waitFor();
    await page.getByText("Run it at given times").click();
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    await page.getByLabel("Every").fill("1d at 02:00");
    await accessible(page, "the form of a schedule");
    await page.getByRole("button", { name: "Add the schedule" }).click();
    await heading(page, "Schedules");
    await page.getByText("1d at 02:00").waitFor();
    for (const verdict of ["first", "passed"]) {
      await page.getByRole("button", { name: "Start now: nightly" }).click();
      await page.locator(".badge", { hasText: verdict }).waitFor();
    }
    await picture(page, "schedules");
    await accessible(page, "schedules");
    await page.setViewportSize({ width: 390, height: 844 });
    await accessible(page, "schedules on a phone");
    await page.getByRole("button", { name: "Pause: nightly" }).click();
    await page.getByText("paused").waitFor();
    assert.equal((await api("/schedules")).schedules[0].paused, true);
    await page.getByRole("button", { name: "Continue: nightly" }).click();
    await page.getByRole("button", { name: "Pause: nightly" }).waitFor();
    // By keyboard: to the list, to the schedule, and it is removed.
    await page.keyboard.press("r");
    await heading(page, "Runs");
    await page.keyboard.press("s");
    await heading(page, "Schedules");
    await page.locator(".run-link").first().waitFor();
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "nightly");
    await page.getByRole("button", { name: "Remove", exact: true }).press("Enter");
    await page.getByRole("button", { name: "Remove it, keep its runs" }).press("Enter");
    await page.getByText("No schedules yet.").waitFor();
    assert.deepEqual(await api("/schedules"), { schedules: [] });
  });

  // Agents: live charts by host, their health, what is known about them later.
  await browse({ viewport: { width: 1280, height: 1400 } }, async (page) => {
    await open(page, "#/hosts");
    await page.getByText("No run with agents is under way.").waitFor();
    const id = await post(FLEET);
    const agents = page.getByRole("table", { name: "Agents under way" }).locator("tbody tr");
    await page.waitForFunction(() => document.querySelectorAll(".badge.busy").length >= 3);
    assert.deepEqual(await agents.locator("th").evaluateAll((cells) => cells.map((cell) => cell.firstChild.textContent)),
      ["local-0", "local-1", "local-2"]);
    await page.getByText(/measure of cell 1: .*B\/s/).nth(2).waitFor();
    assert.match(await agents.first().textContent(), /ago.*of cell 1: .*B\/s/);
    await page.setViewportSize({ width: 1280, height: 560 });
    await picture(page, "hosts");
    await page.setViewportSize({ width: 1280, height: 1400 });
    await accessible(page, "hosts");
    await agents.first().getByRole("link", { name: id }).click();
    await heading(page, "fleet");
    const hosts = page.getByLabel("hosts");
    await page.waitForFunction(() => Number(document.querySelector(".plot")?.getAttribute("data-points")) >= 3);
    await hosts.selectOption("side by side");
    const legend = page.locator(".u-legend").first();
    for (const name of ["local-0", "local-1", "local-2"]) await legend.getByText(name).waitFor();
    // It grows by what arrives.
    await page.waitForFunction(() => Number(document.querySelector(".plot")?.getAttribute("data-points")) >= 8);
    await page.getByLabel("operation").selectOption("write");
    await page.getByText("Throughput of write by host").waitFor();
    await page.getByLabel("Figure of write").nth(1).selectOption("p50_ns");
    await page.getByText("p50 response time of write by host").waitFor();
    await picture(page, "live-hosts");
    await accessible(page, "charts by host");
    await hosts.selectOption("local-1");
    await page.getByText("Response time", { exact: true }).waitFor();
    await page.waitForFunction(() => Number(document.querySelector(".plot")?.getAttribute("data-points")) >= 8);
    await api(`/runs/${id}/stop`, { method: "POST" });
    assert.equal(await ended(id), "interrupted");
    // Stored, it shows the same hosts.
    await show(page, "#/");
    await show(page, `#/runs/${id}`);
    await hosts.selectOption("side by side");
    await legend.getByText("local-2").waitFor();
    await show(page, "#/hosts");
    await page.getByText("No run with agents is under way.").waitFor();
    await page.getByRole("link", { name: "this host" }).click();
    await heading(page, "this host");
    await page.getByText("Recorded about it").waitFor();
    await page.getByText("cpu.online").waitFor();
    await picture(page, "host");
    await accessible(page, "one host");
  });

  // Arrays: what a check created there, and what killed ones left.
  const check = ofArray();
  await browse({ viewport: { width: 1280, height: 900 } }, async (page) => {
    await open(page, "#/arrays");
    await page.getByText("No array yet.").waitFor();
    await page.getByText("Every run that has ended removed what it created.").waitFor();
    await accessible(page, "no arrays");
    const { id } = await postJson("/checks", check);
    assert.equal(await ended(id), "finished");
    const link = page.getByRole("link", { name: check.array.management });
    await link.waitFor();
    await page.getByText("✓ nothing").waitFor();
    await link.click();
    await heading(page, check.array.management);
    const created = page.getByRole("table", { name: "What its last runs created" }).locator("tbody tr");
    assert.match(await created.first().textContent(), /check.*finished.*(file system|view|bucket|account)/is);
    await picture(page, "array");
    await accessible(page, "one array");

    const killed = await killedCheck(check);
    await show(page, "#/arrays");
    await page.getByText(`bucket manometer-${killed}`).waitFor();
    await page.getByRole("button", { name: `Clean up after ${killed}` }).press("Enter");
    await picture(page, "arrays");
    await accessible(page, "arrays");
    await page.getByLabel("token of the array").fill(check.array.token);
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/runs\//);
    assert.equal(await ended(page.url().split("/runs/")[1]), "finished");
    await page.keyboard.press("a");
    await heading(page, "Arrays");
    await page.getByText("Every run that has ended removed what it created.").waitFor();
    const forgotten = await killedCheck(check);
    await page.getByRole("button", { name: `Forget: ${forgotten}` }).press("Enter");
    await page.getByRole("button", { name: `Forget it, remove nothing: ${forgotten}` }).press("Enter");
    await page.getByText("Every run that has ended removed what it created.").waitFor();
    // By keyboard: to the array, to the hosts, to a host.
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await heading(page, check.array.management);
    await page.keyboard.press("m");
    await heading(page, "Hosts");
    await page.locator(".run-link").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await heading(page, "this host");
  });

  // By keyboard alone: from the list into the editor, to a run, and into its report.
  await browse({ viewport: { width: 1280, height: 900 } }, async (page) => {
    await open(page);
    await heading(page, "Runs");
    await page.locator(".run-link").first().waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to the content");
    await picture(page, "skip-link");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "MAIN");
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    await accessible(page, "the keys");
    await page.keyboard.press("Escape");
    await page.keyboard.press("n");
    await heading(page, "Start an experiment");
    await page.getByText(/Valid|fault/).first().waitFor();
    for (let presses = 0; await page.evaluate(() => document.activeElement?.id) !== "experiment"; presses += 1) {
      assert.ok(presses < 20, "Tab reaches the editor");
      await page.keyboard.press("Tab");
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      const inEditor = await page.evaluate(() => document.activeElement?.id === "experiment");
      assert.ok(inEditor || outline !== "none", "the focus is visible");
    }
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(SHORT.replace("name: short", "name: keyboard"));
    await page.getByText("Valid.").waitFor();
    await page.keyboard.press("Control+Enter");
    await heading(page, "keyboard");
    await page.getByRole("link", { name: "Report", exact: true }).waitFor();
    await ended(page.url().split("/").at(-1));
    await page.keyboard.press("o");
    await page.frameLocator("iframe.report").getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("r");
    await heading(page, "Runs");
    await page.locator(".run-link").first().waitFor();
    // The newest run, and the newest before it that measured something: the clean-up between them cannot be chosen.
    const ticks = page.locator("tbody input[type=checkbox]");
    await ticks.first().and(page.locator(":enabled")).waitFor();
    await page.locator("tbody tr", { hasText: "short" }).locator("input:enabled").first().waitFor();
    assert.ok(await ticks.nth(1).isDisabled(), "a clean-up cannot be compared");
    for (let row = 0; !(await page.getByText("Compare 2 of 2").isVisible()); row += 1) {
      assert.ok(row < 20, "two runs can be chosen");
      await page.keyboard.press("j");
      await page.keyboard.press("x");
    }
    await page.keyboard.press("c");
    await heading(page, /compared with/);
    await page.frameLocator("iframe.report").getByRole("heading", { level: 1 }).waitFor();
  });

  // Light and dark, wide and on a phone.
  for (const colorScheme of ["light", "dark"]) {
    for (const [size, viewport] of [["wide", { width: 1280, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
      await browse({ colorScheme, viewport }, async (page) => {
        const where = `${colorScheme} ${size}`;
        await open(page);
        await page.locator(".run-link").first().waitFor();
        await page.locator(".badge.good, .badge.warn").first().waitFor();
        await picture(page, `runs-${colorScheme}-${size}`);
        await accessible(page, `${where}: runs`);
        await show(page, `#/runs/${first}`);
        await page.locator(".u-legend").first().waitFor();
        await picture(page, `run-${colorScheme}-${size}`);
        await accessible(page, `${where}: a run`);
        await show(page, "#/start");
        await write(page, FAULTY);
        await page.locator(".faults li").first().waitFor();
        await picture(page, `editor-${colorScheme}-${size}`);
        await accessible(page, `${where}: the editor`);
        await show(page, "#/history/short");
        await page.locator("svg.history").first().waitFor();
        await picture(page, `history-${colorScheme}-${size}`);
        await accessible(page, `${where}: a history`);
        await page.route("**/api/v3/leftovers?*", (route) =>
          route.fulfill({ json: { leftovers: [leftover(check.array.management)] } }));
        await page.route("**/api/v3/agents?*", (route) => route.fulfill({ json: { agents: madeUpAgents() } }));
        await show(page, "#/hosts");
        await page.getByText("no news for 10 s").waitFor();
        await picture(page, `hosts-${colorScheme}-${size}`);
        await accessible(page, `${where}: hosts`);
        await show(page, "#/hosts/this%20host");
        await page.getByText("cpu.online").waitFor();
        await picture(page, `host-${colorScheme}-${size}`);
        await accessible(page, `${where}: one host`);
        await show(page, "#/arrays");
        await page.getByText("bucket manometer-abcdefgh-0").waitFor();
        await page.getByRole("link", { name: check.array.management }).waitFor();
        await picture(page, `arrays-${colorScheme}-${size}`);
        await accessible(page, `${where}: arrays`);
      });
    }
  }

  // 100,000 intervals: the chart gets what it has pixels for.
  await browse({ viewport: { width: 1280, height: 900 } }, async (page) => {
    await page.route("**/intervals?*", (route) => {
      const query = new URL(route.request().url()).searchParams;
      return route.fulfill({ json: madeUp(Number(query.get("from") ?? 0), Number(query.get("limit")), 100_000) });
    });
    await open(page, `#/runs/${first}`);
    await page.waitForFunction(() => Number(document.querySelector(".plot")?.getAttribute("data-points")) === 100_000);
    const drawn = await page.evaluate(() => Number(document.querySelector(".plot")?.getAttribute("data-drawn")));
    assert.ok(drawn > 500 && drawn < 4000, `${drawn} points are drawn`);
    const slowest = await page.evaluate(async () => {
      const over = document.querySelector(".u-over").getBoundingClientRect();
      let [last, slowest] = [performance.now(), 0];
      for (let frame = 0; frame < 60; frame += 1) {
        document.querySelector(".u-over").dispatchEvent(new MouseEvent("mousemove",
          { bubbles: true, clientX: over.left + (over.width * frame) / 60, clientY: over.top + 50 }));
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        slowest = Math.max(slowest, now - last);
        last = now;
      }
      return slowest;
    });
    console.log(`dashboard: 100000 intervals, ${drawn} drawn, slowest of 60 frames ${slowest.toFixed(0)} ms`);
    await picture(page, "huge");
    await accessible(page, "100,000 intervals");
  });
  console.log("dashboard: an experiment was started, watched, reported, compared, stopped and resumed");
} finally {
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
