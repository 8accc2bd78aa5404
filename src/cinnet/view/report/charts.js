/* Line charts. */
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const REFERENCE = { colour: "#9aa4ae", width: 4 }, PREDICTION = { colour: COLOURS[0], width: 1.8, dash: true };

function ticks(low, high, logarithmic) {
  if (logarithmic) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / 6));
    return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => 10 ** (first + i * step));
  }
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((s) => s >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}

function limits(values, logarithmic) {
  const shown = values.filter((v) => v !== null && Number.isFinite(v) && (!logarithmic || v > 0));
  if (!shown.length) return logarithmic ? [0.1, 1] : [0, 1];
  let low = shown[0], high = shown[0];
  for (const v of shown) { low = Math.min(low, v); high = Math.max(high, v); }
  if (logarithmic) return low === high ? [low / 2, high * 2] : [low / 1.2, high * 1.2];
  const pad = high - low > 1e-3 * Math.abs(high) ? 0.04 * (high - low) : 0.02 * (Math.abs(high) || 1);
  return [low - pad, high + pad];
}

/* series: {name, x, y, colour?, dash?, dots?}. Hidden series leave the scale. */
function chart(title, series, { xLabel = "", logarithmic = false, fixed = null, breaks = null } = {}) {
  const width = Math.max(330, Math.min(520, document.documentElement.clientWidth - 40)), height = 0.56 * width, left = 58, right = 10, top = 8, bottom = 34;
  const hidden = new Set(), picture = element("div"), readout = element("div", { className: "readout" });
  const legend = element("div", { className: "legend" });
  series.forEach((one, i) => { one.colour ??= COLOURS[i % COLOURS.length]; });
  if (series.length > 1) {
    for (const one of series) {
      const swatch = element("span", { className: "swatch" });
      swatch.style.borderTopColor = one.colour;
      if (one.dash) swatch.style.borderTopStyle = "dashed";
      const button = element("button", { type: "button", "aria-pressed": "true" }, swatch, one.name);
      button.addEventListener("click", () => {
        hidden.has(one) ? hidden.delete(one) : hidden.add(one);
        button.setAttribute("aria-pressed", String(!hidden.has(one)));
        draw();
      });
      legend.append(button);
    }
  }
  function draw() {
    const shown = series.filter((one) => !hidden.has(one));
    const [x0, x1] = limits(shown.flatMap((one) => one.x), false);
    const [y0, y1] = fixed ?? limits(shown.flatMap((one) => one.y), logarithmic);
    const transform = logarithmic ? Math.log10 : (v) => v;
    const horizontal = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
    const vertical = (y) =>
      height - bottom - ((transform(y) - transform(y0)) / (transform(y1) - transform(y0))) * (height - top - bottom);
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
    for (const x of ticks(x0, x1, false)) {
      svg.append(shape("line", { x1: horizontal(x), x2: horizontal(x), y1: top, y2: height - bottom, stroke: "#edf0f2" }));
      svg.append(shape("text", { x: horizontal(x), y: height - bottom + 14, "text-anchor": "middle" }, short(x)));
    }
    for (const y of ticks(y0, y1, logarithmic)) {
      svg.append(shape("line", { x1: left, x2: width - right, y1: vertical(y), y2: vertical(y), stroke: "#edf0f2" }));
      const label = logarithmic ? `1e${Math.round(Math.log10(y))}` : short(y);
      svg.append(shape("text", { x: left - 6, y: vertical(y) + 4, "text-anchor": "end" }, label));
    }
    svg.append(shape("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xLabel));
    for (const one of shown) {
      if (one.dots) {
        one.x.forEach((x, i) =>
          svg.append(shape("circle", { cx: horizontal(x), cy: vertical(one.y[i]), r: 2.2, fill: one.colour, opacity: 0.6 })));
        continue;
      }
      let path = "", pen = false;
      one.x.forEach((x, i) => {
        const y = one.y[i];
        if (breaks && breaks.has(i)) pen = false;
        if (y === null || !Number.isFinite(y) || (logarithmic && y <= 0)) { pen = false; return; }
        path += `${pen ? "L" : "M"}${horizontal(x).toFixed(1)} ${vertical(y).toFixed(1)}`;
        pen = true;
      });
      const style = { d: path, fill: "none", stroke: one.colour, "stroke-width": one.width ?? 1.8 };
      if (one.dash) style["stroke-dasharray"] = "6 4";
      svg.append(shape("path", style));
    }
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = x0 + ((((event.clientX - box.left) / box.width) * width - left) / (width - left - right)) * (x1 - x0);
      const parts = shown.filter((one) => !one.dots).map((one) => {
        let nearest = 0;
        one.x.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(one.x[nearest] - x)) nearest = i; });
        return `${one.name} ${short(one.y[nearest])}`;
      });
      if (parts.length) readout.textContent = `${xLabel} ${short(x)}: ${parts.join(", ")}`;
    });
    picture.replaceChildren(svg);
  }
  draw();
  const figure = element("figure", {}, element("figcaption", { textContent: title }), legend, picture, readout);
  figure.update = (fresh) => { fresh.forEach((y, i) => { series[i].y = y; }); draw(); };
  return figure;
}
