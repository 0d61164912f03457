// What people do with charts: a part of the time on its own, and the picture or its numbers as a file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** The labels of the horizontal axis. */
const labels = (chart) => chart.evaluate((svg) => [...svg.querySelectorAll(".ticks-x text")].map((text) => text.textContent));

export async function checkCharts(page) {
  await page.evaluate(() => { for (const details of document.querySelectorAll("details.cell")) details.open = true; });
  const chart = page.locator("svg[data-zoom]").first();
  if (await chart.count() > 0) await checkZoom(page, chart);
  for (const name of ["overview-0", "curves", "rate-0", "heat-0", "busy-0"]) {
    const figure = page.locator(`figure:has(svg[data-series="${name}"])`).first();
    if (await figure.count() > 0) await checkFiles(page, figure);
  }
}

async function checkZoom(page, chart) {
  await chart.scrollIntoViewIfNeeded();
  const whole = await labels(chart);
  const view = () => chart.locator(".plot").getAttribute("viewBox");
  const drawn = await view();
  const box = await chart.boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
  };
  await drag(0.4, 0.6);
  const part = await labels(chart);
  assert.notDeepEqual(part, whole, "the axis shows a part of the time");
  assert.notEqual(await view(), drawn, "the lines are those of that part");
  // What lies below shows the same time.
  const cell = chart.locator("xpath=ancestor::*[contains(@class, 'cell')][1]");
  const peers = cell.locator("svg[data-series^='latency-']");
  if (await peers.count() > 0) assert.deepEqual(await labels(peers.first()), part, "charts of a cell are zoomed together");
  await chart.dblclick();
  assert.deepEqual(await labels(chart), whole, "a double click shows all again");
  assert.equal(await view(), drawn);
  await page.keyboard.press("Tab");
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("+");
  assert.notDeepEqual(await labels(chart), whole, "the keyboard zooms, too");
  await page.keyboard.press("Escape");
  assert.deepEqual(await labels(chart), whole, "Escape shows all again");
}

/** Saves the figure in each way; the table's values are those of the chart. */
async function checkFiles(page, figure) {
  const save = async (kind) => {
    const told = page.waitForEvent("download");
    await figure.getByRole("button", { name: `Save as ${kind}` }).click();
    const download = await told;
    assert.match(download.suggestedFilename(), new RegExp(`^[a-z0-9.-]+\\.${kind.toLowerCase()}$`));
    return readFileSync(await download.path());
  };
  const data = await figure.locator("svg.chart").evaluate((svg) => JSON.parse(svg.querySelector("metadata").textContent));
  const rows = (await save("CSV")).toString("utf8").trimEnd().split("\r\n").map((row) => row.split(","));
  const [, unit, places] = data.x;
  assert.equal(rows.length, places.length + 1, "a row for each place");
  const columns = data.rows.flatMap(([, , values, low, high]) => (low ? [values, low, high] : [values]));
  assert.ok(columns.length > 0 && rows[0].length === columns.length + 1, `a column for each line: ${rows[0]}`);
  rows.slice(1).forEach((row, n) => {
    if (data.labels.length) assert.equal(row[0], data.labels[n]);
    else if (unit !== "one in") assert.equal(Number(row[0]), places[n]);
    columns.forEach((values, column) => {
      assert.equal(row[column + 1], String(values[n] ?? ""), `row ${n}, column ${column} of the table`);
    });
  });
  const svg = (await save("SVG")).toString("utf8");
  assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.doesNotMatch(svg, /var\(|class=|<script/, "the picture needs no style sheet");
  const size = await page.evaluate((text) => new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => done([image.naturalWidth, image.naturalHeight]);
    image.onerror = () => failed(new Error("the SVG is no picture"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  }), svg);
  const png = await save("PNG");
  assert.equal(png.toString("latin1", 1, 4), "PNG");
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], size.map((side) => Math.floor(side * 2)), "the PNG has twice the points");
}
