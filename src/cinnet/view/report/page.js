"use strict";
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const REFERENCE = { colour: "#9aa4ae", width: 4 }, PREDICTION = { colour: COLOURS[0], width: 1.8, dash: true };
const runs = JSON.parse(document.getElementById("data").textContent).runs;
const report = document.getElementById("report");

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const short = (value) => {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-2 && size < 1e5 ? String(+value.toPrecision(4)) : value.toExponential(2);
};

function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/* ---- line charts ---------------------------------------------------------------------------------------------- */

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

/* ---- fields --------------------------------------------------------------------------------------------------- */

const DIVERGING = [[33, 102, 172], [103, 169, 207], [209, 229, 240], [247, 247, 247], [253, 219, 199], [239, 138, 98], [178, 24, 43]];
const RISING = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

function colour(scale, position) {
  const place = Math.min(Math.max(position, 0), 1) * (scale.length - 1), below = Math.min(Math.floor(place), scale.length - 2);
  return scale[below].map((v, k) => v + (place - below) * (scale[below + 1][k] - v));
}

class Field {
  constructor(data) {
    this.axes = data.axes; this.times = data.times; this.coordinates = data.coordinates; this.components = data.components;
    this.values = decoded(data.values);
    this.reference = data.reference === null ? null : decoded(data.reference);
    this.size = this.coordinates.reduce((product, axis) => product * axis.length, 1);
  }
  at(kind, level, place, component) {
    const index = (level * this.size + place) * this.components.length + component;
    if (kind === "prediction") return this.values[index];
    if (kind === "reference") return this.reference[index];
    return Math.abs(this.values[index] - this.reference[index]);
  }
  largest(kind, component) {
    let most = 0;
    for (let level = 0; level < this.times.length; level++)
      for (let place = 0; place < this.size; place++)
        most = Math.max(most, Math.abs(this.at(kind, level, place, component)));
    return most || 1;
  }
}

function paint(canvas, columns, rows, valueAt, scale, low, high) {
  canvas.width = columns; canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const rgb = colour(scale, (valueAt(column, rows - 1 - row) - low) / (high - low));
      image.data.set([rgb[0], rgb[1], rgb[2], 255], 4 * (row * columns + column));
    }
  context.putImageData(image, 0, 0);
}

const nearest = (axis, fraction) => Math.min(Math.max(Math.round(fraction * (axis.length - 1)), 0), axis.length - 1);

function fieldView(run) {
  const field = new Field(run.fields), line = field.axes.length === 1;
  const kinds = field.reference ? ["prediction", "reference", "error"] : ["prediction"];
  const state = { kind: "prediction", component: 0, level: field.times.length - 1, timer: null };
  const canvas = element("canvas", { id: "field", role: "img", "aria-label": "the field" });
  canvas.style.height = line ? "300px" : "auto";
  if (!line) canvas.style.aspectRatio = "1";
  const marker = element("div", { className: "marker" });
  const frame = element("div", { className: "frame" }, canvas, line ? marker : null);
  if (!line) frame.style.maxWidth = "460px";
  const readout = element("div", { className: "readout", id: "readout", textContent: "Move over the picture to read values." });
  const scale = element("div", { className: "scale" });
  const slider = element("input", { type: "range", id: "time", min: 0, max: field.times.length - 1, "aria-label": "time" });
  slider.value = state.level;
  const clock = element("span", { className: "readout", id: "clock" });
  const play = element("button", { type: "button", textContent: "Play" });
  const x = field.coordinates[0];
  const middle = line ? 0 : Math.floor(field.coordinates[1].length / 2);
  const place = (i, j) => (line ? i : i * field.coordinates[1].length + j);
  const profileOf = (kind) => x.map((_, i) => field.at(kind, state.level, place(i, middle), state.component));
  const shownProfiles = () => kinds.filter((kind) => kind !== "error").map(profileOf);
  const profile = chart(
    line ? "Profile at this time" : `Profile at this time, ${field.axes[1]} = ${short(field.coordinates[1][middle])}`,
    shownProfiles().map((y, i) => ({
      name: kinds[i], x, y, ...(i === 0 ? PREDICTION : REFERENCE),
    })).reverse(),
    { xLabel: field.axes[0] });

  function draw() {
    const error = state.kind === "error";
    const limit = field.largest(error ? "error" : kinds[kinds.length > 1 ? 1 : 0], state.component);
    const [low, high] = error ? [0, limit] : [-limit, limit], colours = error ? RISING : DIVERGING;
    if (line)
      paint(canvas, field.times.length, x.length, (level, i) => field.at(state.kind, level, i, state.component), colours, low, high);
    else
      paint(canvas, x.length, field.coordinates[1].length,
        (i, j) => field.at(state.kind, state.level, place(i, j), state.component), colours, low, high);
    const gradient = element("i");
    gradient.style.background = `linear-gradient(90deg, ${colours.map((c) => `rgb(${c})`).join(",")})`;
    scale.replaceChildren(short(low), gradient, short(high));
    drawTime();
  }
  function drawTime() {
    marker.style.left = `${(100 * state.level) / (field.times.length - 1)}%`;
    clock.textContent = `t = ${short(field.times[state.level])}`;
    profile.update(shownProfiles().reverse());
  }
  function moveTo(level) {
    state.level = level; slider.value = level;
    line ? drawTime() : draw();
  }
  slider.addEventListener("input", () => moveTo(+slider.value));
  play.addEventListener("click", () => {
    if (state.timer) { clearInterval(state.timer); state.timer = null; play.textContent = "Play"; return; }
    play.textContent = "Pause";
    state.timer = setInterval(() => moveTo((state.level + 1) % field.times.length), line ? 60 : 250);
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width, up = 1 - (event.clientY - box.top) / box.height;
    const level = line ? nearest(field.times, across) : state.level;
    const i = line ? nearest(x, up) : nearest(x, across), j = line ? 0 : nearest(field.coordinates[1], up);
    const where = line ? [[field.axes[0], x[i]]] : [[field.axes[0], x[i]], [field.axes[1], field.coordinates[1][j]]];
    const name = field.components[state.component];
    const values = kinds.map((kind) => `${kind === "prediction" ? name : kind} = ${short(field.at(kind, level, place(i, j), state.component))}`);
    readout.textContent = [`t = ${short(field.times[level])}`, ...where.map(([n, v]) => `${n} = ${short(v)}`), ...values].join(", ");
  });
  if (line) canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    moveTo(nearest(field.times, (event.clientX - box.left) / box.width));
  });

  const kindButtons = kinds.map((kind) => {
    const button = element("button", { type: "button", textContent: kind, "aria-pressed": String(kind === state.kind) });
    button.addEventListener("click", () => {
      state.kind = kind;
      kindButtons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      draw();
    });
    return button;
  });
  const components = element("select", { "aria-label": "component" }, ...field.components.map((name, i) => element("option", { value: i, textContent: name })));
  components.addEventListener("change", () => { state.component = +components.value; draw(); });
  const controls = element("div", { className: "controls" }, ...(kinds.length > 1 ? kindButtons : []),
    field.components.length > 1 ? components : null);
  const caption = line ? `${field.axes[0]} upwards, t to the right; click to choose a time` : `${field.axes[1]} upwards, ${field.axes[0]} to the right`;
  draw();
  return element("div", { className: "charts" },
    element("figure", {}, controls, frame, scale, element("div", { className: "soft", textContent: caption }), readout,
      element("div", { className: "controls" }, play, slider, clock)),
    profile);
}

function curvesView(run) {
  const field = new Field(run.fields);
  const series = field.components.flatMap((name, component) => ["reference", "prediction"]
    .filter((kind) => kind === "prediction" || field.reference)
    .map((kind) => ({
      name: `${name}, ${kind}`, x: field.times, y: field.times.map((_, level) => field.at(kind, level, 0, component)),
      colour: COLOURS[component % COLOURS.length], dash: kind === "prediction",
    })));
  return element("div", { className: "charts" }, chart("Solution", series, { xLabel: "t" }));
}

/* ---- the page ------------------------------------------------------------------------------------------------- */

const section = (title, ...content) => report.append(element("h2", { textContent: title }), ...content);
const grid = (...charts) => element("div", { className: "charts" }, ...charts.filter((one) => one));
const nameOf = (run) => `${run.result.problem}, ${run.result.method}`;
const labelOf = (run) => (runs.length > 1 ? run.folder : nameOf(run));
const tone = (run) => ({ Right: "right", Wrong: "wrong", Not: "wrong" })[(run.result.verdict ?? "").split(/[ :]/)[0]] ?? "";

function facts(run) {
  const r = run.result, seconds = r.wall_seconds;
  const shown = [
    ["relative L2 error", short(r.relative_l2_error)],
    ["error that the residual implies", short(r.estimated_error)],
    ["held-out squared residual", short(r.held_out_residual)],
    ["training time", seconds >= 120 ? `${(seconds / 60).toFixed(1)} min` : `${Math.round(seconds)} s`],
    ["steps", String(r.steps)],
    ["parameters", r.parameters.toLocaleString("en")],
    ["training grid N_t x N_x", `${r.num_times} x ${r.num_points}`],
    ["time windows", String(r.windows)],
    ["status", r.status],
    ["seed", String(r.seed)],
  ];
  return element("div", { className: "facts" }, ...shown.map(([name, value]) =>
    element("div", { className: "fact" }, element("b", { textContent: value }), element("span", { textContent: name }))));
}

function estimated(one) {
  return one.standard_error == null ? one.value.toPrecision(4)
    : `${one.value.toPrecision(4)} \u00b1 ${one.standard_error.toPrecision(2)}, 95 %: ${one.lower.toPrecision(4)} to ${one.upper.toPrecision(4)}`;
}

function summary(run) {
  const found = run.result.estimates ?? {};
  const valueOf = (name, value) => name in found ? `${estimated(found[name])} (learned)`
    : value !== null && typeof value === "object" && !Array.isArray(value) ? "learned" : value;
  const parameters = Object.entries(run.parameters).map(([name, value]) => `${name} = ${valueOf(name, value)}`).join(", ");
  const parts = [element("p", { className: "soft", textContent: `preset ${run.result.preset}, run ${run.folder}` })];
  if (run.equation) parts.push(element("img", { className: "equation", src: run.equation, alt: run.result.equation }));
  else if (run.result.equation) parts.push(element("pre", { textContent: run.result.equation }));
  if (run.result.residual_source) parts.push(element("pre", { textContent: run.result.residual_source }));
  const ends = (values) => `[${short(values[0])}, ${short(values[values.length - 1])}]`;
  const domain = [["t", run.fields.times], ...run.fields.axes.map((name, i) => [name, run.fields.coordinates[i]])]
    .map(([name, values]) => `${name} in ${ends(values)}`).join(", ");
  parts.push(element("p", { className: "soft", textContent: parameters ? `${domain}; ${parameters}` : domain }));
  parts.push(element("div", { className: `verdict ${tone(run)}`, textContent: run.result.verdict ?? "" }));
  return parts;
}

function table(headings, rows) {
  return element("div", { className: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", { textContent: text })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text) => element("td", { textContent: text })))))));
}

function windowBreaks(records) {
  return new Set((records.window ?? []).flatMap((w, i, all) => (i && all[i - 1] !== w ? [i] : [])));
}

function trainingCharts(run) {
  const records = run.records, steps = records.step ?? [];
  if (!steps.length) return [];
  const parts = Object.keys(records).filter((name) => name === "initial" || name === "residual" || name === "prior" || /^(boundary|observations)/.test(name));
  const losses = ["loss", ...parts, "held_out_residual", "relative_l2_error"].filter((name) => name in records);
  const strategies = ["damping", "learning_rate", "step_length", "causality", "least_causal_weight", ...Object.keys(records).filter((n) => n.startsWith("weight "))]
    .filter((name) => name in records);
  const words = (name) => name.replaceAll("_", " ").replace("l2", "L2");
  const series = (names) => names.map((name) => ({ name: words(name), x: steps, y: records[name] }));
  const options = { xLabel: "step", logarithmic: true, breaks: windowBreaks(records) };
  return [chart("Losses and error", series(losses), options),
    strategies.length ? chart("Damping and weights", series(strategies), options) : null];
}

function overTime(chosen) {
  const residuals = chosen.map((run) => ({ name: labelOf(run), x: run.fields.times, y: run.residual }));
  const errors = chosen.filter((run) => run.error).map((run) => ({ name: labelOf(run), x: run.fields.times, y: run.error }));
  return [chart("Mean squared residual over time", residuals, { xLabel: "t", logarithmic: true }),
    errors.length ? chart("Relative L2 error over time", errors, { xLabel: "t", logarithmic: true }) : null];
}

function invariantCharts(run) {
  return Object.entries(run.invariants).map(([name, one]) => chart(
    `${name} (${one.conserved ? "conserved" : "may only fall"})`,
    [...(one.reference ? [{ name: "reference", x: run.fields.times, y: one.reference, ...REFERENCE }] : []),
      { name: "prediction", x: run.fields.times, y: one.solution, ...PREDICTION }],
    { xLabel: "t" }));
}

function gateChart(run) {
  if (!run.gates.length) return null;
  const spread = (layer, i, count) => layer + 1 + (count > 1 ? (0.6 * i) / (count - 1) - 0.3 : 0);
  const series = run.gates.map((values, layer) => ({
    name: `layer ${layer + 1}`, dots: true, x: values.map((_, i) => spread(layer, i, values.length)), y: values,
  }));
  return chart("Gates z: 1 is all local, 0 all memory", series, { xLabel: "layer", fixed: [0, 1] });
}

function runDetails(run) {
  const made = element("div");
  made.append(run.fields.axes.length ? fieldView(run) : curvesView(run));
  made.append(element("h2", { textContent: "Training" }), grid(...trainingCharts(run)));
  if (runs.length === 1) made.append(element("h2", { textContent: "Over time" }), grid(...overTime([run])));
  const more = [...invariantCharts(run), gateChart(run)].filter((one) => one);
  if (more.length) made.append(element("h2", { textContent: "Invariants and gates" }), grid(...more));
  const settings = Object.entries(run.settings).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]);
  made.append(element("h2", { textContent: "How to repeat it" }), element("pre", { id: "reproduce", textContent: run.result.reproduce ?? "" }),
    element("details", {}, element("summary", { textContent: "All settings" }), table(["setting", "value"], settings)),
    element("details", {}, element("summary", { textContent: "Machine" }), table(["what", "value"],
      Object.entries({ ...run.result.machine, "seconds of one 4096^3 float32 GEMM": run.result.gemm_seconds }).map(([a, b]) => [a, String(b)]))));
  return made;
}

if (runs.length === 1) {
  document.title = `${nameOf(runs[0])} - cinnet`;
  report.append(element("h1", { textContent: nameOf(runs[0]) }), ...summary(runs[0]), facts(runs[0]));
  section("Solution", runDetails(runs[0]));
} else {
  document.title = `${runs.length} runs - cinnet`;
  const ranked = [...runs].sort((a, b) => (a.result.relative_l2_error ?? Infinity) - (b.result.relative_l2_error ?? Infinity));
  report.append(element("h1", { textContent: `Comparison of ${runs.length} runs` }));
  report.append(table(["run", "problem", "method", "error", "held-out residual", "seconds", "parameters", "status"],
    ranked.map((run) => [run.folder, run.result.problem, run.result.method, short(run.result.relative_l2_error), short(run.result.held_out_residual),
      String(Math.round(run.result.wall_seconds)), String(run.result.parameters), run.result.status])));
  section("Side by side", grid(...overTime(runs),
    ...[["loss", "Training loss against seconds"], ["relative_l2_error", "Error against seconds"]].map(([name, title]) => {
      const series = runs.filter((run) => name in run.records).map((run) => ({ name: run.folder, x: run.records.seconds, y: run.records[name] }));
      return series.length ? chart(title, series, { xLabel: "seconds", logarithmic: true }) : null;
    })));
  const chooser = element("select", { id: "run", "aria-label": "run" }, ...ranked.map((run, i) => element("option", { value: i, textContent: run.folder })));
  const place = element("div");
  const show = () => { const run = ranked[+chooser.value]; place.replaceChildren(...summary(run), facts(run), runDetails(run)); };
  chooser.addEventListener("change", show);
  section("One run", chooser, place);
  show();
}
report.append(element("p", { className: "soft", textContent: "Made by cinnet." }));
