// Saves charts as files: an image with its title and legend, or the numbers behind it. Nothing is sent anywhere.
(() => {
  const svgNamespace = "http://www.w3.org/2000/svg";
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "font-size",
    "font-weight", "text-anchor", "paint-order", "vector-effect", "shape-rendering", "visibility"];
  const [ROW, LETTER, MARGIN] = [18, 6.4, 10];

  const element = (name, attributes, content) => {
    const made = document.createElementNS(svgNamespace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (content !== undefined) made.textContent = content;
    return made;
  };

  /** Title and legend above the chart, and their height. */
  const head = (figure, width) => {
    const ink = getComputedStyle(figure);
    const group = element("g", { fill: ink.color, "font-size": 12 });
    group.append(element("text", { x: MARGIN, y: 0, "font-weight": 650, "font-size": 13 }, figure.querySelector(".title").textContent));
    let [x, y] = [MARGIN, ROW];
    for (const key of figure.querySelectorAll(".key")) {
      const name = key.textContent;
      const room = 24 + name.length * LETTER + 14;
      if (x > MARGIN && x + room > width) [x, y] = [MARGIN, y + ROW];
      const style = getComputedStyle(key.querySelector("i"));
      const line = { x1: x, x2: x + 18, y1: y - 4, y2: y - 4, stroke: style.color, "stroke-width": 2.5 };
      if (style.borderTopStyle === "dashed") line["stroke-dasharray"] = "5 4";
      if (style.borderTopStyle === "dotted") line["stroke-dasharray"] = "1.5 4";
      group.append(element("line", line), element("text", { x: x + 24, y }, name));
      x += room;
    }
    return [group, x > MARGIN ? y + ROW : y];
  };

  /** The chart as an image that needs no style sheet. */
  const picture = (figure) => {
    const svg = figure.querySelector("svg.chart");
    const copy = svg.cloneNode(true);
    const [of, to] = [[...svg.querySelectorAll("*")], [...copy.querySelectorAll("*")]];
    of.forEach((one, index) => {
      if (!(one instanceof SVGGraphicsElement) || one.localName === "g" || one.localName === "svg") return;
      const style = getComputedStyle(one);
      for (const name of STYLES) {
        if (one.localName === "text" || !name.startsWith("font") && name !== "text-anchor") to[index].setAttribute(name, style.getPropertyValue(name));
      }
    });
    for (const one of copy.querySelectorAll(".cursor, .picked")) one.remove();
    for (const one of [copy, ...copy.querySelectorAll("*")]) {
      for (const name of [...one.getAttributeNames()]) {
        if (name === "class" || name === "tabindex" || name.startsWith("data-")) one.removeAttribute(name);
      }
    }
    const { width, height } = svg.viewBox.baseVal;
    const [above, room] = head(figure, width);
    const all = height + room + MARGIN;
    above.setAttribute("transform", `translate(0 ${ROW - room - MARGIN})`);
    copy.setAttribute("xmlns", svgNamespace);
    copy.setAttribute("viewBox", `0 ${-room - MARGIN} ${width} ${all}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", all);
    copy.setAttribute("font-family", "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif");
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
    copy.querySelector("desc").after(element("rect", { y: -room - MARGIN, width, height: all, fill: paper }), above);
    return [new XMLSerializer().serializeToString(copy), width, all];
  };

  /** The numbers as a table: a row for each x value. */
  const table = (figure) => {
    const { x: [xName, xUnit, xs], labels, rows } = JSON.parse(figure.querySelector("metadata").textContent);
    // Spreadsheets would read text that starts like this as a formula.
    const quoted = (text) => {
      const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const unit = (of) => (of ? ` [${of}]` : "");
    const columns = rows.flatMap(([name, of, values, low, high]) => [
      [`${name}${unit(of)}`, values],
      ...(low ? [[`${name} 95 % low${unit(of)}`, low], [`${name} 95 % high${unit(of)}`, high]] : []),
    ]);
    const place = (x, index) => {
      if (labels.length) return quoted(labels[index]);
      return xUnit === "one in" ? +(100 * (1 - 1 / x)).toPrecision(12) : x;
    };
    const first = `${xName}${xUnit === "one in" ? " [%]" : unit(xUnit)}`;
    return [
      [first, ...columns.map(([name]) => name)].map(quoted),
      ...xs.map((x, index) => [place(x, index), ...columns.map(([, values]) => values[index] ?? "")]),
    ].map((row) => `${row.join(",")}\r\n`).join("");
  };

  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80);
  const save = (figure, kind, blob) => {
    const cell = figure.closest(".cell")?.querySelector(".number")?.textContent.trim();
    const [run, id] = document.title.split(" · ");
    const parts = [run, id, cell && `cell-${cell}`, figure.querySelector(".title").textContent].filter(Boolean).map(slug);
    const link = document.createElement("a");
    link.download = `${parts.filter(Boolean).join("-")}.${kind}`;
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  const kinds = {
    svg: (figure) => save(figure, "svg", new Blob([picture(figure)[0]], { type: "image/svg+xml" })),
    png: (figure) => {
      const [text, width, height] = picture(figure);
      const image = new Image();
      image.addEventListener("load", () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [width * 2, height * 2];
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => save(figure, "png", blob));
      });
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    },
    csv: (figure) => save(figure, "csv", new Blob([table(figure)], { type: "text/csv" })),
  };

  for (const figure of document.querySelectorAll("figure")) {
    if (!figure.querySelector("svg.chart")) continue;
    const title = figure.querySelector(".title").textContent;
    const tools = document.createElement("span");
    tools.className = "tools";
    const button = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      tools.append(made);
      return made;
    };
    if (figure.querySelector("svg[data-zoom]")) {
      const reset = button("show all", `Show all of the time: ${title}`, () => figure.dispatchEvent(new Event("reset")));
      reset.className = "reset";
    }
    for (const [kind, write] of Object.entries(kinds)) {
      if (kind === "csv" && !figure.querySelector("metadata")) continue;
      button(kind.toUpperCase(), `Save as ${kind.toUpperCase()}: ${title}`, () => write(figure));
    }
    figure.querySelector("figcaption").append(tools);
  }
})();
