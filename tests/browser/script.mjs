// What the page's script adds: choice of a cell, order of tables, values under the pointer and by the keyboard.
import assert from "node:assert/strict";

export async function checkScript(page) {
  const cells = await page.locator(".cell").count();
  const visible = () => page.locator(".cell").evaluateAll((all) => all.filter((cell) => cell.offsetHeight > 0).map((cell) => cell.querySelector(".inside").id));
  const open = () => page.locator(".cell[open]").evaluateAll((all) => all.map((cell) => cell.querySelector(".inside").id));
  // Browsers tell of a new place in the page in an event after the click.
  const moved = () => page.evaluate(() => new Promise((done) => addEventListener("hashchange", () => done(), { once: true })));
  if (cells > 1) {
    assert.deepEqual(await open(), [], "cells are folded");
    await page.selectOption("#pick", "1");
    assert.deepEqual(await visible(), ["cell-2"]);
    assert.deepEqual(await open(), ["cell-2"], "the chosen cell is open");
    await page.click("#next");
    assert.deepEqual(await visible(), [`cell-${2 % cells + 1}`]);
    await page.click("#previous");
    await page.click("#previous");
    assert.deepEqual(await visible(), ["cell-1"]);
    // A link in the table leads to its cell though another one is chosen.
    let told = moved();
    await page.click("table.cells a[href='#cell-2']");
    await told;
    assert.deepEqual(await visible(), ["cell-2"]);
    await page.selectOption("#pick", "all");
    assert.equal((await visible()).length, cells);
    await page.click("#fold");
    assert.deepEqual(await open(), [], "all are folded again");
    // The address opens a cell, and a cell has its address.
    told = moved();
    await page.click(".cell .permalink[href='#cell-1']");
    await told;
    assert.ok((await open()).includes("cell-1"), "its link opens a cell");
    const last = `cell-${cells}`;
    await page.goto(`${page.url().split("#")[0]}#${last}`);
    await page.reload();
    assert.deepEqual(await open(), [last], "the address opens the cell");
    const top = await page.locator(`#${last}`).evaluate((cell) => cell.closest("details").getBoundingClientRect().top);
    const seen = await page.evaluate(() => innerHeight);
    assert.ok(top < seen, `the cell is at ${top} px of ${seen}`);
    await page.click("#fold");
    await page.click("#fold");
    assert.equal((await open()).length, cells, "all are open");
  }

  // The first column of figures: which one it is depends on the page.
  const cell = page.locator("table.cells tbody tr").first().locator("td:has(data)").first();
  const place = await cell.evaluate((td) => td.cellIndex + 1);
  const figures = page.locator("table.cells").first().locator(`tbody tr td:nth-child(${place}) data`);
  const column = () => figures.evaluateAll((all) => all.map((one) => Number(one.value)));
  assert.ok((await column()).length > 0, "there are figures to sort");
  const head = page.locator("table.cells").first().locator(`thead th:nth-child(${place}) button`);
  await head.focus();
  await page.keyboard.press("Enter");
  const rising = await column();
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b));
  await head.click();
  assert.deepEqual(await column(), rising.toReversed());

  const chart = page.locator("svg[data-series^='rate-']").first();
  if (await chart.count() === 0) return;
  // A run of one cell has nothing to unfold all of.
  await chart.evaluate((svg) => { svg.closest("details").open = true; });
  await chart.scrollIntoViewIfNeeded();
  await chart.hover();
  const tip = page.locator("#tip");
  assert.ok(await tip.isVisible(), "values under the pointer are shown");
  const [, , places] = await chart.evaluate((svg) => JSON.parse(svg.querySelector("metadata").textContent).x);
  const second = Number((await tip.locator("b").textContent()).split(" ")[0]);
  const nearest = places.reduce((best, x) => Math.abs(x - second) < Math.abs(best - second) ? x : best);
  assert.ok(Math.abs(nearest - second) <= 0.051, `${second} s is not a moment of the series`);
  // The chart's middle is the middle of its time.
  const [first, last] = [places[0], places.at(-1)];
  assert.ok(second > first + (last - first) * 0.35 && second < first + (last - first) * 0.65, `${second} s is not in the middle`);
  await page.mouse.move(0, 0);
  assert.ok(!await tip.isVisible());
  await page.keyboard.press("Tab");
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  assert.ok(await tip.isVisible(), "values are shown by the keyboard, too");
  await page.keyboard.press("Escape");
  assert.ok(!await tip.isVisible());
}
