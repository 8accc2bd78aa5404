/* The page: one run, or several side by side. */
const runs = JSON.parse(document.getElementById("data").textContent).runs;
const report = document.getElementById("report");

const section = (title, ...content) => report.append(element("h2", { textContent: title }), ...content);
const grid = (...charts) => element("div", { className: "charts" }, ...charts.filter((one) => one));
const nameOf = (run) => `${run.result.problem}, ${run.result.method}`;
const labelOf = (run) => (runs.length > 1 ? run.folder : nameOf(run));
const TONES = { Accurate: "good", Inaccurate: "bad", "Not checked": "bad" };
const tone = (run) => TONES[run.result.accuracy] ?? "";

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
  const parts = Object.keys(records).filter((name) => name === "initial" || name === "residual" || name === "prior" || /^(boundary|observations|extra) ?/.test(name));
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
    element("details", {}, element("summary", { textContent: "Made by" }), table(["what", "version"],
      Object.entries(run.result.made_by).map(([what, version]) => [what, String(version)]))));
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
