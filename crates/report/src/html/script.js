"use strict";
// Values under the pointer, choice of a cell, tables in order. The page says everything without it.
(() => {
  const series = JSON.parse(document.getElementById("manometer-series").textContent);
  const scaled = (value, steps, digits) => {
    for (const [name, factor] of steps) {
      if (Math.abs(value) >= factor * (1 - 0.5 * 10 ** -digits)) return `${+(value / factor).toPrecision(digits)} ${name}`;
    }
    return `${+value.toPrecision(digits)} ${steps[steps.length - 1][0]}`;
  };
  const decimal = (tail) => [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]].map(([n, f]) => [n + tail, f]);
  const texts = {
    "B/s": (v) => scaled(v, decimal("B/s"), 4),
    "/s": (v) => scaled(v, decimal("/s"), 4),
    ns: (v) => scaled(v, [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]], 3),
    "": (v) => String(v),
  };
  const xText = (chart, x) => chart.startsWith("curve")
    ? (x <= 1 ? "the shortest" : `${+(100 * (1 - 1 / x)).toPrecision(7)} %, one in ${Math.round(x)}`)
    : `${+x.toFixed(1)} s`;

  // Charts: the horizontal scale is found from the first and the last point that are drawn.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const svgNamespace = "http://www.w3.org/2000/svg";
  for (const svg of document.querySelectorAll("svg[data-series]")) {
    const name = svg.dataset.series;
    const data = series[name];
    if (!data || !data.x.length) continue;
    const [left, top, right, bottom] = svg.dataset.plot.split(" ").map(Number);
    const path = svg.querySelector("path.line");
    const drawn = path ? [...path.getAttribute("d").matchAll(/[ML](-?[\d.]+) /g)].map((m) => +m[1]) : [];
    const places = drawn.length === data.x.length ? drawn : data.x.map((x) => {
      const [a, b] = [data.x[0], data.x[data.x.length - 1]];
      return left + (right - left) * (b > a ? (x - a) / (b - a) : 0);
    });
    const cursor = document.createElementNS(svgNamespace, "line");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("y1", top);
    cursor.setAttribute("y2", bottom);
    cursor.setAttribute("visibility", "hidden");
    svg.append(cursor);
    let at = 0;
    const show = (index) => {
      at = Math.max(0, Math.min(places.length - 1, index));
      cursor.setAttribute("x1", places[at]);
      cursor.setAttribute("x2", places[at]);
      cursor.setAttribute("visibility", "visible");
      tip.replaceChildren();
      const head = document.createElement("b");
      head.textContent = xText(name, data.x[at]);
      tip.append(head);
      for (const [row, unit, values] of data.rows) {
        const line = document.createElement("div");
        const value = document.createElement("span");
        value.textContent = values[at] === null || values[at] === undefined ? "–" : texts[unit](values[at]);
        line.append(row, value);
        tip.append(line);
      }
      tip.hidden = false;
      const box = svg.getBoundingClientRect();
      const x = box.left + places[at] * box.width / svg.viewBox.baseVal.width;
      const beside = x + 14 + tip.offsetWidth > document.documentElement.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
      tip.style.left = `${Math.max(4, beside) + window.scrollX}px`;
      tip.style.top = `${box.top + 14 + window.scrollY}px`;
    };
    const hide = () => {
      tip.hidden = true;
      cursor.setAttribute("visibility", "hidden");
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      let [low, high] = [0, places.length - 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (places[middle] <= x) low = middle; else high = middle;
      }
      show(x - places[low] < places[high] - x ? low : high);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) show(at); });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
      if (step) { event.preventDefault(); show(at + step); }
      if (event.key === "Escape") hide();
    });
  }

  // Cells: one at a time, or all.
  const pick = document.getElementById("pick");
  const cells = [...document.querySelectorAll(".cell")];
  if (pick && cells.length > 1) {
    const choose = (value) => {
      pick.value = value;
      cells.forEach((cell, index) => { cell.hidden = value !== "all" && String(index) !== value; });
    };
    const step = (by) => {
      const now = pick.value === "all" ? (by > 0 ? -1 : cells.length) : +pick.value;
      choose(String((now + by + cells.length) % cells.length));
      document.getElementById("cells").scrollIntoView();
    };
    const follow = () => {
      const found = /^#cell-(\d+)$/.exec(location.hash);
      if (found && pick.value !== "all") choose(String(found[1] - 1));
      if (found) document.getElementById(`cell-${found[1]}`)?.scrollIntoView();
    };
    pick.addEventListener("change", () => { choose(pick.value); document.getElementById("cells").scrollIntoView(); });
    document.getElementById("previous").addEventListener("click", () => step(-1));
    document.getElementById("next").addEventListener("click", () => step(1));
    window.addEventListener("hashchange", follow);
    document.querySelector(".picker").hidden = false;
    follow();
  }

  // Tables: a click on a head puts the rows in its order.
  const key = (row, column) => {
    const cell = row.cells[column];
    const figure = cell.dataset.sort ?? cell.querySelector("data")?.value;
    return figure === undefined ? cell.textContent.trim() : Number(figure);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
        const kind = (value) => (typeof value === "number" ? 0 : 1);
        rows.sort(([a], [b]) => kind(a) - kind(b) || (down ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }
})();
