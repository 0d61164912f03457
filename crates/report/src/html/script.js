"use strict";
// Folds and unfolds one cell or all; sorts tables. The page is complete without it.
(() => {
  // Cells: one at a time, or all; a link to a cell opens it.
  const cells = [...document.querySelectorAll("details.cell")];
  const pick = document.getElementById("pick");
  const choose = (value) => {
    pick.value = value;
    cells.forEach((cell, index) => {
      cell.hidden = value !== "all" && String(index) !== value;
      if (String(index) === value) cell.open = true;
    });
  };
  const follow = (hash) => {
    const found = /^#cell-(\d+)$/.exec(hash);
    const cell = found && document.getElementById(found[0].slice(1))?.closest("details.cell");
    if (!cell) return;
    if (pick && pick.value !== "all") choose(String(cells.indexOf(cell)));
    cell.open = true;
    cell.scrollIntoView();
  };
  window.addEventListener("hashchange", () => follow(location.hash));
  document.addEventListener("click", (event) => {
    // The URL may already name this position in the page.
    const link = event.target.closest?.("a[href^='#cell-']");
    if (link && link.hash === location.hash) follow(link.hash);
  });
  if (pick && cells.length > 1) {
    const step = (by) => {
      const now = pick.value === "all" ? (by > 0 ? -1 : cells.length) : +pick.value;
      choose(String((now + by + cells.length) % cells.length));
      document.getElementById("cells").scrollIntoView();
    };
    pick.addEventListener("change", () => { choose(pick.value); document.getElementById("cells").scrollIntoView(); });
    document.getElementById("previous").addEventListener("click", () => step(-1));
    document.getElementById("next").addEventListener("click", () => step(1));
    const fold = document.getElementById("fold");
    const isOpen = () => cells.some((cell) => cell.open);
    const named = () => { fold.textContent = isOpen() ? "fold all" : "unfold all"; };
    fold.addEventListener("click", () => {
      const open = !isOpen();
      for (const cell of cells) cell.open = open;
    });
    for (const cell of cells) cell.addEventListener("toggle", named);
    named();
    document.querySelector(".picker").hidden = false;
  }
  follow(location.hash);

  // Tables: a click on a column header sorts by it.
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
