// Opens /docs of a service: every operation of its document is shown, one is tried, and no request leaves the service.
// usage: node docs.mjs MODULES URL PICTURES|""
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, url, pictures] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "package.json"))("playwright-core");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  const seen = { console: [], requests: [] };
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.console.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(`${url}/docs`);
  const document = await (await fetch(`${url}/api/v3/openapi.json`)).json();
  const expected = Object.values(document.paths).flatMap((methods) => Object.values(methods)).map((one) => one.operationId);
  await page.locator(".opblock").nth(expected.length - 1).waitFor();
  assert.equal(await page.locator(".opblock").count(), expected.length, "every operation is shown once");
  assert.equal(await page.locator(".errors-wrapper").count(), 0, "the document has no errors");
  const list = page.locator("#operations-runs-listRuns");
  await list.locator(".opblock-summary-control").click();
  await list.locator(".try-out__btn").click();
  await list.locator(".execute").click();
  const answer = list.locator(".live-responses-table .response-col_status", { hasText: "200" });
  await answer.first().waitFor();
  if (pictures) await page.screenshot({ path: join(pictures, "docs.png") });
  const elsewhere = seen.requests.filter((one) => !one.startsWith(`${url}/`) && !one.startsWith("data:"));
  assert.deepEqual(elsewhere, [], "requests to other hosts");
  assert.deepEqual(seen.console, [], "the console is not empty");
} finally {
  await browser.close();
}
