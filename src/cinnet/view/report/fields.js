/* Solutions: heat maps with a profile, planes over time, curves of ordinary equations. */
const DIVERGING = [[33, 102, 172], [103, 169, 207], [209, 229, 240], [247, 247, 247], [253, 219, 199], [239, 138, 98], [178, 24, 43]];
const RISING = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

function colour(scale, position) {
  const place = Math.min(Math.max(position, 0), 1) * (scale.length - 1), below = Math.min(Math.floor(place), scale.length - 2);
  return scale[below].map((v, k) => v + (place - below) * (scale[below + 1][k] - v));
}

function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
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
