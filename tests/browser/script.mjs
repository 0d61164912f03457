// What the page's script adds: choice of a cell, order of tables, values under the pointer and by the keyboard.
import assert from "node:assert/strict";

export async function checkScript(page) {
  const cells = await page.locator(".cell").count();
  const visible = () => page.locator(".cell").evaluateAll((all) => all.filter((cell) => cell.offsetHeight > 0).map((cell) => cell.id));
  if (cells > 1) {
    await page.selectOption("#pick", "1");
    assert.deepEqual(await visible(), ["cell-2"]);
    await page.click("#next");
    assert.deepEqual(await visible(), [`cell-${2 % cells + 1}`]);
    await page.click("#previous");
    await page.click("#previous");
    assert.deepEqual(await visible(), ["cell-1"]);
    // A link in the table leads to its cell though another one is chosen.
    // Browsers tell of a new place in the page in an event after the click.
    const told = page.evaluate(() => new Promise((done) => addEventListener("hashchange", () => done(), { once: true })));
    await page.click("table.cells a[href='#cell-2']");
    await told;
    assert.deepEqual(await visible(), ["cell-2"]);
    await page.selectOption("#pick", "all");
    assert.equal((await visible()).length, cells);
  }

  const column = () => page.locator("table.cells tbody tr td:nth-child(4) data").evaluateAll((all) => all.map((one) => Number(one.value)));
  const head = page.locator("table.cells thead th:nth-child(4) button");
  await head.focus();
  await page.keyboard.press("Enter");
  const rising = await column();
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b));
  await head.click();
  assert.deepEqual(await column(), rising.toReversed());

  const chart = page.locator("svg[data-series^='rate-']").first();
  if (await chart.count() === 0) return;
  await chart.scrollIntoViewIfNeeded();
  await chart.hover();
  const tip = page.locator("#tip");
  assert.ok(await tip.isVisible(), "values under the pointer are shown");
  const series = await page.evaluate(() => JSON.parse(document.getElementById("manometer-series").textContent));
  const name = await chart.getAttribute("data-series");
  const second = Number((await tip.locator("b").textContent()).split(" ")[0]);
  const nearest = series[name].x.reduce((best, x) => Math.abs(x - second) < Math.abs(best - second) ? x : best);
  assert.ok(Math.abs(nearest - second) <= 0.051, `${second} s is not a moment of the series`);
  // The chart's middle is the middle of its time.
  const [first, last] = [series[name].x[0], series[name].x.at(-1)];
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
