// Charts: values under the pointer or the keyboard cursor, and zooming the time axis.
(() => {
  const svgNamespace = "http://www.w3.org/2000/svg";
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
    s: (v) => `${+v.toFixed(Math.abs(v) < 10 ? 2 : 1)} s`,
    share: (v) => `${+(100 * v).toPrecision(3)} %`,
    "one in": (v) => (v <= 1 ? "min" : `${+(100 * (1 - 1 / v)).toPrecision(7)} %, one in ${Math.round(v)}`),
    "": (v) => String(+v.toPrecision(4)),
  };

  // Round time steps, as on the page's static axes.
  const round = (rough) => {
    const decade = 10 ** Math.floor(Math.log10(rough));
    return decade * ([1, 2, 2.5, 5].find((stop) => stop * decade >= rough * 0.999) ?? 10);
  };
  const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const ticks = (from, to) => {
    const rough = (to - from) / 8;
    const step = rough < 1 ? round(rough) : TIMES.find((one) => one >= rough) ?? round(rough / 86400) * 86400;
    const [unit, name] = step >= 3600 ? [3600, "h"] : step >= 60 ? [60, "min"] : [1, "s"];
    const found = [];
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n++) {
      found.push([n * step, `${+((n * step) / unit).toPrecision(6)} ${name}`]);
    }
    return found;
  };

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const element = (name, attributes, content) => {
    const made = document.createElementNS(svgNamespace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (content !== undefined) made.textContent = content;
    return made;
  };
  const say = (head, rows) => {
    const title = document.createElement("b");
    title.textContent = head;
    tip.replaceChildren(title, ...rows.map(([name, text]) => {
      const line = document.createElement("div");
      const value = document.createElement("span");
      value.textContent = text;
      line.append(name, value);
      return line;
    }));
    tip.hidden = false;
  };
  // More lines than this would cover the chart: show their total instead.
  const LINES = 20;

  const follow = (svg, data) => {
    const [left, top, right, bottom] = svg.dataset.plot.split(" ").map(Number);
    const [scale, ...ends] = svg.dataset.x.split(" ");
    const [low, high] = ends.map(Number);
    const [xName, xUnit, xs] = data.x;
    const linear = (x) => (scale === "log" ? Math.log(x) : x);
    let [from, to] = [low, high];
    const place = (x) => left + (right - left) * (linear(x) - linear(from)) / (linear(to) - linear(from));
    const value = (at) => from + (to - from) * (at - left) / (right - left);
    const cursor = element("line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
    const picked = element("rect", { class: "picked", y: top, height: bottom - top, visibility: "hidden" });
    svg.append(picked, cursor);

    let at = 0;
    const hide = () => {
      tip.hidden = true;
      cursor.setAttribute("visibility", "hidden");
    };
    const show = (index) => {
      const [first, last] = [xs.findIndex((x) => x >= from), xs.findLastIndex((x) => x <= to)];
      if (first < 0 || last < first) return hide();
      at = Math.max(first, Math.min(last, index));
      const x = place(xs[at]);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      const head = data.labels.length ? `${xName} ${data.labels[at]}` : texts[xUnit](xs[at]);
      const given = (values) => values[at] !== null && values[at] !== undefined;
      if (data.rows.length > LINES) {
        const all = data.rows.reduce((sum, [, , values]) => sum + (given(values) ? values[at] : 0), 0);
        say(head, [["all", texts[data.rows[0][1]](all)]]);
      } else {
        say(head, data.rows.map(([name, unit, values]) => [name, given(values) ? texts[unit](values[at]) : "–"]));
      }
      const box = svg.getBoundingClientRect();
      const middle = box.left + x * box.width / svg.viewBox.baseVal.width;
      const beside = middle + 14 + tip.offsetWidth > document.documentElement.clientWidth ? middle - 14 - tip.offsetWidth : middle + 14;
      tip.style.left = `${Math.max(4, beside) + window.scrollX}px`;
      tip.style.top = `${box.top + 14 + window.scrollY}px`;
    };
    const under = (event) => {
      const box = svg.getBoundingClientRect();
      return (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    };
    const nearest = (x) => xs.reduce((best, one, index) => (Math.abs(place(one) - x) < Math.abs(place(xs[best]) - x) ? index : best), 0);

    // Zoom: the plot's view is moved and stretched; elements that must keep their shape are only moved.
    const plot = svg.querySelector(".plot");
    const [gridX, ticksX] = [svg.querySelector(".grid-x"), svg.querySelector(".ticks-x")];
    const whole = [...gridX.childNodes, ...ticksX.childNodes];
    const zoom = (a, b) => {
      [from, to] = [Math.max(low, a), Math.min(high, b)];
      if (!(to > from)) [from, to] = [low, high];
      const part = (to - from) / (high - low);
      const full = right - left;
      plot.setAttribute("viewBox", `${left + full * (from - low) / (high - low)} 0 ${full * part} ${svg.viewBox.baseVal.height}`);
      for (const one of svg.querySelectorAll("[data-at]")) {
        const x = place(low + (high - low) * (one.dataset.at - left) / full);
        one.setAttribute("transform", `translate(${x - one.dataset.at} 0)`);
        one.setAttribute("visibility", x < left - 1 || x > right + 1 ? "hidden" : "inherit");
      }
      const zoomed = part < 1;
      svg.closest("figure")?.classList.toggle("zoomed", zoomed);
      if (!zoomed) {
        gridX.replaceChildren(...whole.filter((node) => node.nodeName !== "text"));
        ticksX.replaceChildren(...whole.filter((node) => node.nodeName === "text"));
        return;
      }
      const marks = ticks(from, to).map(([x, label]) => [place(x), label]);
      gridX.replaceChildren(...marks.map(([x]) => element("path", { d: `M${x} ${top}V${bottom}` })));
      ticksX.replaceChildren(...marks.map(([x, label]) => element("text", { x, y: bottom + 16 }, label)));
    };
    const together = () => [...(svg.closest(".cell") ?? svg.parentNode).querySelectorAll("svg[data-zoom]")];
    const zoomAll = (a, b) => {
      hide();
      for (const one of together()) one.dispatchEvent(new CustomEvent("zoom", { detail: [a, b] }));
    };
    const reset = () => zoomAll(-Infinity, Infinity);
    const isZoomed = () => from > low || to < high;

    let start = null;
    const drag = (event) => {
      const [a, b] = [start, Math.max(left, Math.min(right, under(event)))].sort((one, other) => one - other);
      picked.setAttribute("x", a);
      picked.setAttribute("width", b - a);
      picked.setAttribute("visibility", b - a > 4 ? "visible" : "hidden");
      return [a, b];
    };
    const drop = () => {
      start = null;
      picked.setAttribute("visibility", "hidden");
    };
    if (svg.dataset.zoom) {
      svg.addEventListener("zoom", (event) => zoom(...event.detail));
      svg.addEventListener("pointerdown", (event) => {
        const x = under(event);
        // On touch screens a drag scrolls the page.
        if (event.button !== 0 || event.pointerType === "touch" || x < left || x > right) return;
        start = x;
        svg.setPointerCapture(event.pointerId);
        event.preventDefault();
        svg.focus({ preventScroll: true, focusVisible: false });
      });
      svg.addEventListener("pointerup", (event) => {
        if (start === null) return;
        const [a, b] = drag(event);
        const ends = [value(a), value(b)];
        drop();
        if (b - a > 4) zoomAll(...ends);
      });
      svg.addEventListener("pointercancel", drop);
      svg.addEventListener("dblclick", reset);
      svg.closest("figure")?.addEventListener("reset", reset);
    }
    svg.addEventListener("pointermove", (event) => {
      if (start !== null) drag(event);
      show(nearest(under(event)));
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) show(at); });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
      if (step) { event.preventDefault(); show(at + step); }
      const closer = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
      if (closer && svg.dataset.zoom && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        const half = (to - from) / 2 * closer;
        const middle = Math.max(low + half, Math.min(high - half, xs[at]));
        zoomAll(middle - half, middle + half);
        show(at);
      }
      if (event.key === "Escape") {
        if (start !== null) drop();
        else if (isZoomed()) reset();
        hide();
      }
    });
  };
  for (const svg of document.querySelectorAll("svg[data-series]")) {
    const data = JSON.parse(svg.querySelector("metadata").textContent);
    if (data.x[2].length) follow(svg, data);
  }
})();
