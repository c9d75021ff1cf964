"use strict";
// The page: what a click, a key or a slider asks, and how the answer is shown.

/** Colours by value, evenly spaced: viridis and cividis, which colour-blind people read too. */
const PALETTES = {
  viridis: "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725",
  cividis: "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838",
};
/** The share of a palette that is left out where it would vanish in the ground. */
const DIM = 0.14;
/** The share of the crossings that the palette is spread over; those beyond have its last colour. */
const PALETTE_SHARE = 0.98;
/** Colours of pins (Okabe and Ito, but for a darker grey), which colour-blind people tell apart. */
const PIN_COLORS = "e69f00 56b4e9 009e73 f0e442 0072b2 d55e00 cc79a7 666666";
const ROUTE = "#ff5a3c", CLOSED = "#ff3b5c", OTHER = "#56b4e9", AREA = "86 180 233";
/** Of the sphere on which the map lies, in metres, and where Mercator's projection ends. */
const EARTH = 6371008.8, MOST_LATITUDE = 85;
/** Pixels that a street with the greatest flow is wide. */
const FLOW_WIDTH = 14;
/** Areas that are asked for at once. */
const MOST_AREAS = 12;
/** Pixels that a pointer may tremble in a click, and that a pin, a street or a crossing is wide. */
const TREMBLE = 5, PIN = 16, GRIP = 14, NEAR = 40;
/** Pixels from the tip of a pin to its head. */
const HEAD = 18;
/** Streets: width in pixels at least by class, and in metres close by. */
const CLASS_WIDTHS = [1, 1, 1.7, 2.3], STREET_METRES = [7, 7, 10, 14];
const MOST_ZOOM = 8;
/** Milliseconds that a frame may take while things move, then fewer streets are drawn; all at rest. */
const FRAME_MS = 40, REST_MS = 200, MOST_STRIDE = 16;
/** Seconds in which the colours spread over the whole map. */
const SPREAD_SECONDS = 6;
const HINTS = {
  start: "Click a crossing: how far is everything from there?",
  route: "Click where the route starts.",
  routeTo: "Click where the route ends.",
  pin: "Click to set pins; every street takes the colour of the way to the nearest.",
  close: "Click a street to close it, again to open it.",
};

const byId = (id) => document.getElementById(id);

/** Unpack what `sssp.page.street_map.packed` has packed: [head, arrays]. */
function unpacked(buffer) {
  const kinds = { float32: Float32Array, uint32: Uint32Array, int32: Int32Array,
    uint16: Uint16Array, uint8: Uint8Array };
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const { name, dtype, length: count, offset } of head.arrays)
    arrays[name] = new kinds[dtype](buffer, 4 + length + offset, count);
  return [head, arrays];
}

/** What a question says when it is refused. */
class Refusal extends Error {}

/** Asks the server behind the page. */
class Server {
  async map() {
    return (await fetch("map")).arrayBuffer();
  }

  async ask(what, question) {
    // (kernels of every kind of question are compiled once, some while the page is there already)
    const timing = byId("timing"), told = "Loading: a first answer compiles";
    const patience = setTimeout(() => { timing.textContent = told; }, 2000);
    try {
      return await this.post(what, question);
    } finally {
      clearTimeout(patience);
      if (timing.textContent === told) timing.textContent = "";
    }
  }

  async post(what, question) {
    let reply;
    // (a server that is busy is asked again)
    for (let pause = 100; pause < 4000; pause *= 2) {
      try {
        reply = await fetch(what, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(question),
        });
      } catch {
        throw new Refusal("The server does not answer any more: start it again.");
      }
      if (reply.status !== 503) break;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    if (!reply.ok) throw new Refusal((await reply.json()).error);
    return reply;
  }

  async distances(question) {
    const reply = await this.ask("distances", question);
    return [new Uint16Array(await reply.arrayBuffer()), JSON.parse(reply.headers.get("Answer"))];
  }

  async route(question) { return (await this.ask("route", question)).json(); }
  async certificate(question) { return (await this.ask("certificate", question)).json(); }
  async areas(question) { return (await this.ask("areas", question)).json(); }
  async vertex(label) { return (await (await this.ask("vertex", { label })).json()).vertex; }
}

/** Answers from a file that holds one result. */
class OneResult {
  constructor(text) { this.text = text; }

  async map() {
    const packed = Uint8Array.from(atob(this.text), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    [this.head, this.arrays] = unpacked(buffer);
    this.result = this.head.result;
    return buffer;
  }

  async distances() { return [this.arrays.values, this.result]; }

  label(vertex) {
    const { labels, first_label: first } = this.head;
    return String(labels ? labels[vertex] : vertex + (first ?? 0));
  }

  /** Walk back along the tree. */
  async route({ target }) {
    // (with turns the tree is over copies of crossings, and says whose and where routes end)
    const { predecessors, values, positions, vertex_of: own, ends } = this.arrays;
    const label = this.label(target);
    if (values[target] === UNREACHED) return { reached: false, labels: [null, label] };
    const vertices = [target];
    let length = 0;
    for (let at = predecessors[ends ? ends[target] : target]; at >= 0; at = predecessors[at]) {
      const u = vertices.at(-1), v = own ? own[at] : at;
      if (u === v) continue;  // (where a route ends)
      length += Math.hypot(positions[2 * u] - positions[2 * v], positions[2 * u + 1] - positions[2 * v + 1]);
      vertices.push(v);
    }
    const distance = this.result.least + this.result.step * values[target];
    return { reached: true, vertices: vertices.reverse(), distance, length, source: vertices[0],
      labels: [this.result.labels[this.result.sources.indexOf(vertices[0])], label] };
  }
}

class Page {
  constructor() {
    this.sources = [];
    this.target = null;
    this.closed = new Set();
    this.others = false;        // whether other ways are shown
    this.areas = null;          // GeoJSON
    this.mode = "start";
    this.bands = false;
    this.bySource = false;
    this.palette = "viridis";
    this.limit = null;          // in units of the weights; null: no limit
    this.spread = null;         // while the colours spread: how far they are
    this.facts = null;
    this.path = null;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.timings = {};
    this.asked = 0;
    this.stride = 1;
  }

  // -- beginning -----------------------------------------------------------------------------

  async begin() {
    const own = byId("map-data");
    this.server = own ? new OneResult(own.textContent) : new Server();
    this.setTheme(matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
    const [head, arrays] = unpacked(await this.server.map());
    this.head = head;
    this.arrays = arrays;
    this.chunks = new Chunks(arrays.positions, arrays.streets);
    this.places = new Places(arrays, this.chunks);
    this.canvas = byId("streets");
    this.drawing = new Drawing(this.canvas, arrays, this.chunks);
    this.canvas.addEventListener("redraw", () => this.redraw());
    this.lengthOfUnit = head.unit.size;
    this.traffic = head.classes.map(() => 1);
    this.#describe();
    this.#listen();
    this.#resize();
    this.fit();
    this.setMode("start");
    this.setPalette("viridis");
    if (head.result) this.#take(arrays.values, head.result, head.result.sources);
    await this.#followAddress();
    // (nothing is drawn before there are colours: a first frame in grey would only cost its time)
    this.begun = true;
    this.redraw();
    document.body.dataset.state = "ready";
  }

  #describe() {
    const { head } = this;
    document.title = head.name ? `${head.name} · sssp` : "sssp";
    byId("name").textContent = head.name || "A map that answers";
    const form = head.standalone ? "one result, in a file" : head.prepared ? "prepared map" : "flat graph";
    const facts = [`${count(head.vertices)} crossings`, form, head.attribution];
    byId("facts").textContent = facts.filter(Boolean).join(" · ");
    if (head.standalone) {
      for (const id of ["traffic", "find", "proof", "areas", "others"]) byId(id).hidden = true;
      for (const mode of ["start", "pin", "close"]) this.#button("mode", mode).hidden = true;
      this.#button("mode", "route").hidden = !this.arrays.predecessors;
      byId("modes").hidden = true;
      byId("keys").hidden = true;
    }
    const own = head.classes.map((kind, i) => ({ ...kind, i })).filter((kind) => kind.share > 0);
    for (const kind of own) {
      const label = document.createElement("label");
      const name = own.length === 1 ? "all streets" : `${kind.name} streets`;
      label.innerHTML = '<span></span><input type="range" min="0" max="100" value="0"><output>as it is</output>';
      label.title = `${percent(kind.share)} of all; ${speedText(kind)}`;
      label.firstChild.textContent = name;
      const [slider, output] = [label.children[1], label.children[2]];
      slider.dataset.class = kind.i;
      const tell = () => {
        output.textContent = this.traffic[kind.i] === 1 ? "as it is" : `× ${this.traffic[kind.i].toFixed(2)}`;
      };
      // (the slider is finer where traffic is light)
      slider.addEventListener("input", () => {
        this.traffic[kind.i] = Math.round((1 + 4 * (slider.value / 100) ** 1.5) * 20) / 20;
        tell();
        this.ask();
      });
      slider.addEventListener("traffic", () => {
        slider.value = 100 * (Math.max(this.traffic[kind.i] - 1, 0) / 4) ** (1 / 1.5);
        tell();
      });
      byId("traffic").append(label);
    }
  }

  /**
   * Show what the address names, as #from=7&from=8&to=9&closed=12.40&traffic=1-1.5-1-1; else what
   * is around the middle.
   */
  async #followAddress() {
    if (this.head.standalone) return;
    const named = new URLSearchParams(location.hash.slice(1));
    const found = { from: [], to: [] };
    for (const end of ["from", "to"]) {
      for (const label of named.getAll(end)) {
        try {
          found[end].push(await this.server.vertex(label));
        } catch (refusal) {
          this.note(refusal);
        }
      }
    }
    const numbers = (name, mark) => (named.get(name) ?? "").split(mark).filter(Boolean).map(Number);
    const streets = this.arrays.streets.length / 2;
    this.closed = new Set(numbers("closed", ".").filter((i) => Number.isInteger(i) && i >= 0 && i < streets));
    const traffic = numbers("traffic", "-");
    if (traffic.length === this.traffic.length && traffic.every((factor) => factor >= 0.25 && factor <= 10)) {
      this.traffic = traffic;
      for (const slider of document.querySelectorAll("#traffic input")) slider.dispatchEvent(new Event("traffic"));
    }
    if (found.from.length) this.sources = found.from;
    else if (!this.sources.length) {
      const middle = this.places.nearestVertex(this.view.x, this.view.y);
      if (middle >= 0) this.sources = [middle];
    } else if (!found.to.length && !this.closed.size) return;
    if (found.to.length) this.target = found.to[0];
    if (this.sources.length) await this.ask();
  }

  // -- questions -----------------------------------------------------------------------------

  get question() {
    return { sources: this.sources, closed: [...this.closed], traffic: this.traffic };
  }

  /** Ask for what is to be shown now; what changes while an answer is under way is asked after. */
  async ask(since = performance.now()) {
    this.asked++;
    this.since = since;
    this.areas = null;
    byId("download").hidden = true;
    byId("certificate").textContent = "every distance on this map";
    byId("proof").classList.remove("right");
    this.#showClosures();
    if (this.asking) return this.asking;
    this.asking = this.#askAll().finally(() => { this.asking = null; });
    return this.asking;
  }

  async #askAll() {
    for (let answered = 0; answered < this.asked;) {
      answered = this.asked;
      const { question, target, since, sources } = this;
      if (!sources.length) { this.#clear(); continue; }
      const bySource = this.bySource && sources.length > 1;
      try {
        // the colours first: they are what people wait for
        const [values, facts] = await this.server.distances({ ...question, by_source: bySource });
        this.timings.answered = performance.now() - since;
        facts.bySource = bySource;
        this.#take(values, facts, sources);
        const others = this.others && sources.length === 1;
        const path = target === null ? null : await this.server.route({ ...question, target, others });
        if (target === this.target) this.path = path;
        this.#showAnswer();
        this.#showAddress();
        this.redraw();
      } catch (refusal) {
        this.note(refusal);
      }
    }
  }

  #take(values, facts, sources) {
    this.facts = facts;
    this.sources = sources;
    this.drawing.setValues(values);
    this.counts = null;
    if (this.target === null) this.path = null;
    byId("colour-by").hidden = sources.length < 2 || Boolean(this.head.standalone);
    for (const id of ["bands", "palette"]) byId(id).hidden = Boolean(facts.bySource);
    this.#press("by", this.bySource ? "source" : "distance");
    this.#showScale();
    this.#showAnswer();
    this.redraw();
  }

  /** Let the address name what is shown. */
  #showAddress() {
    const { facts, path, target } = this;
    if (this.head.standalone || !facts) return;
    const named = facts.labels.map((label) => ["from", label]);
    if (target !== null && path?.reached) named.push(["to", path.labels[1]]);
    if (this.closed.size) named.push(["closed", [...this.closed].join(".")]);
    if (this.traffic.some((factor) => factor !== 1)) named.push(["traffic", this.traffic.join("-")]);
    history.replaceState(null, "", `#${new URLSearchParams(named)}`);
  }

  #clear() {
    this.facts = null;
    this.path = null;
    this.drawing.setValues(new Uint16Array(this.head.vertices).fill(UNREACHED));
    this.#showScale();
    this.#showAnswer();
    this.redraw();
  }

  async certify() {
    if (!this.sources.length || this.head.standalone) return;
    byId("certificate").textContent = "checking";
    try {
      const proof = await this.server.certificate(this.question);
      byId("certificate").textContent =
        `✓ ${count(proof.vertices)} distances hold on all ${count(proof.arcs)} arcs (${Math.round(proof.milliseconds)} ms)`;
      byId("proof").classList.add("right");
    } catch (refusal) {
      byId("certificate").textContent = "";
      this.note(refusal);
    }
  }

  /** Show the areas within the limit, or within the bands. */
  async showAreas() {
    if (!this.facts || this.head.standalone) return;
    const { least, step } = this.facts, end = least + this.domain * step;
    const limits = [];
    if (this.bands) {
      for (let limit = this.bandWidth; limit < end && limits.length < MOST_AREAS - 1; limit += this.bandWidth)
        if (limit > least) limits.push(limit);
    }
    try {
      const asked = this.asked;
      const areas = await this.server.areas({ ...this.question, limits: [...limits, end] });
      if (asked !== this.asked) return;
      this.areas = areas;
      this.outlines = areas.features.map(({ geometry }) => {
        const polygons = geometry?.type === "Polygon" ? [geometry.coordinates] : geometry?.coordinates ?? [];
        return polygons.flat().map((ring) => ring.map(([lon, lat]) => this.project(lon, lat)));
      });
      byId("download").hidden = false;
      this.redraw();
    } catch (refusal) {
      this.note(refusal);
    }
  }

  /** Save the areas that are shown. */
  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(this.areas)], { type: "application/geo+json" }));
    link.download = "areas.geojson";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  /** Return where longitude and latitude are on the map; as `street_map.py` does. */
  project(lon, lat) {
    const [east, north] = this.head.middle, radians = Math.PI / 180;
    const up = (angle) => Math.atanh(Math.sin(angle * radians));
    const scale = EARTH * Math.cos(north * radians);
    const inside = Math.min(Math.max(lat, -MOST_LATITUDE), MOST_LATITUDE);
    return [(lon - east) * radians * scale, (up(inside) - up(north)) * scale];
  }

  note(problem) {
    if (!(problem instanceof Refusal)) console.error(problem);
    const note = byId("note");
    note.textContent = problem.message;
    note.hidden = false;
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => { note.hidden = true; }, 6000);
  }

  // -- what clicks do ------------------------------------------------------------------------

  setMode(mode) {
    this.mode = mode;
    if (mode !== "route") this.routeStarted = false;
    this.#press("mode", mode);
    this.#showAnswer();
    this.redraw();
  }

  /** Do what a mode does at a point of the screen. */
  choose(mode, at, since) {
    byId("tip").hidden = true;
    const [x, y] = this.toMap(...at);
    if (mode === "close") return this.#toggleStreet(x, y, since);
    const vertex = this.places.nearestVertex(x, y, NEAR * devicePixelRatio / this.view.zoom);
    if (vertex < 0) return this.note(new Refusal("No crossing is near."));
    if (this.head.standalone) {
      if (this.arrays.predecessors) this.target = vertex;
    } else if (mode === "start") {
      this.sources = [vertex];
    } else if (mode === "pin") {
      const known = this.sources.indexOf(vertex);
      this.sources = known < 0 ? [...this.sources, vertex] : this.sources.toSpliced(known, 1);
    } else if (mode === "route" && !this.routeStarted) {
      this.sources = [vertex];
      this.target = null;
      this.path = null;
      this.routeStarted = true;
    } else {
      this.target = vertex;
      this.routeStarted = false;
    }
    return this.ask(since);
  }

  #toggleStreet(x, y, since) {
    const street = this.places.nearestStreet(x, y, GRIP * devicePixelRatio / this.view.zoom);
    if (street < 0) return this.note(new Refusal("No street is near."));
    if (!this.closed.delete(street)) this.closed.add(street);
    this.redraw();
    return this.ask(since);
  }

  /** Forget the route, then the pins but one, then the closed streets. */
  escape() {
    if (this.target !== null || this.routeStarted) {
      this.target = this.path = null;
      this.routeStarted = false;
    } else if (this.sources.length > 1) this.sources = this.sources.slice(0, 1);
    else this.closed.clear();
    if (!this.head.standalone) this.ask();
    this.#showAnswer();
    this.redraw();
  }

  // -- events --------------------------------------------------------------------------------

  #button(kind, value) {
    return document.querySelector(`[data-${kind}="${value}"]`);
  }

  #press(kind, value) {
    for (const button of document.querySelectorAll(`[data-${kind}]`))
      if (button.localName === "button") button.setAttribute("aria-checked", button.dataset[kind] === value);
  }

  #listen() {
    this.surface = byId("map");
    new ResizeObserver(() => this.#resize()).observe(this.surface);
    for (const button of document.querySelectorAll("[data-mode]"))
      button.addEventListener("click", () => this.setMode(button.dataset.mode));
    for (const button of document.querySelectorAll("[data-bands]"))
      button.addEventListener("click", () => this.setBands(button.dataset.bands === "yes"));
    for (const button of document.querySelectorAll("[data-by]"))
      button.addEventListener("click", () => { this.bySource = button.dataset.by === "source"; this.ask(); });
    byId("limit").addEventListener("input", (event) => this.#setLimitStep(Number(event.target.value)));
    byId("play").addEventListener("click", () => this.play());
    byId("palette").addEventListener("click", () => this.nextPalette());
    byId("theme").addEventListener("click", () => this.setTheme(this.theme === "dark" ? "light" : "dark"));
    byId("areas").addEventListener("click", () => this.showAreas());
    byId("download").addEventListener("click", () => this.download());
    byId("others").addEventListener("click", () => { this.others = !this.others; this.ask(); });
    byId("certify").addEventListener("click", () => this.certify());
    byId("closures").lastElementChild.addEventListener("click", () => { this.closed.clear(); this.ask(); });
    byId("more").addEventListener("click", () => {
      byId("more").setAttribute("aria-expanded", byId("panel").classList.toggle("open"));
    });
    byId("find").addEventListener("submit", (event) => {
      event.preventDefault();
      this.find(byId("label").value.trim());
    });
    addEventListener("keydown", (event) => this.#key(event));
    // (browsers ring what a key is pressed on, however it got the focus)
    this.surface.addEventListener("focus", () => this.surface.classList.toggle("keyed", Boolean(this.tabbed)));
    this.surface.addEventListener("blur", () => this.surface.classList.remove("keyed"));
    this.#listenToPointers();
  }

  /** Return the vertex nearest to a text of longitude and latitude, in either order; -1 for none. */
  vertexAt(text) {
    const point = /^(-?\d+(?:\.\d+)?)\s*[,; ]\s*(-?\d+(?:\.\d+)?)$/.exec(text);
    if (!point) return -1;
    const [a, b] = [Number(point[1]), Number(point[2])], { west, south, east, north } = this.places.box;
    const margin = Math.max(east - west, north - south, 1000) / 10;
    for (const [lon, lat] of [[a, b], [b, a]]) {
      const [x, y] = this.project(lon, lat);
      if (x > west - margin && x < east + margin && y > south - margin && y < north + margin)
        return this.places.nearestVertex(x, y);
    }
    throw new Refusal("That point is not on the map.");
  }

  async find(label) {
    try {
      const at = this.vertexAt(label);
      const vertex = at >= 0 ? at : await this.server.vertex(label);
      if (this.mode === "route" && this.routeStarted) this.target = vertex;
      else this.sources = [vertex];
      [this.view.x, this.view.y] = this.places.at(vertex);
      await this.ask();
    } catch (refusal) {
      this.note(refusal);
    }
  }

  #listenToPointers() {
    const { surface } = this, pointers = new Map();
    let start = null, moved = false, grip = null, pinch = 0;
    const place = (event) => [event.clientX * devicePixelRatio, event.clientY * devicePixelRatio];
    const spanOf = () => {
      const [a, b] = [...pointers.values()];
      return [Math.hypot(a[0] - b[0], a[1] - b[1]), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    };
    surface.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      surface.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, place(event));
      this.cross = this.tabbed = false;
      surface.focus({ preventScroll: true });
      surface.classList.remove("keyed");
      if (pointers.size === 1) {
        start = place(event);
        moved = false;
        grip = this.#gripAt(start, event.pointerType === "touch" ? 1.6 : 1);
      } else {
        grip = null;
        moved = true;
        pinch = pointers.size === 2 ? spanOf()[0] : 0;
      }
    });
    surface.addEventListener("pointermove", (event) => {
      const at = place(event), before = pointers.get(event.pointerId);
      if (!before) return this.#hover(at, event);
      const middle = pointers.size === 2 ? spanOf() : null;
      pointers.set(event.pointerId, at);
      if (pointers.size === 2) {
        const [span, x, y] = spanOf();
        this.pan(x - middle[1], y - middle[2]);
        this.zoomAt(x, y, span / pinch);
        pinch = span;
        return;
      }
      moved ||= Math.hypot(at[0] - start[0], at[1] - start[1]) > TREMBLE * devicePixelRatio;
      if (!moved) return;
      byId("tip").hidden = true;
      surface.classList.add("dragging");
      if (grip) this.#drag(grip, at, event.timeStamp);
      else this.pan(at[0] - before[0], at[1] - before[1]);
    });
    const release = (event) => {
      const was = pointers.get(event.pointerId);
      pointers.delete(event.pointerId);
      surface.classList.remove("dragging");
      if (!was || event.type === "pointercancel" || pointers.size) return;
      if (!moved) {
        const mode = event.altKey ? "close" : event.shiftKey ? "route" : event.ctrlKey || event.metaKey ? "pin" : this.mode;
        if (event.shiftKey) this.routeStarted = this.sources.length > 0;
        if (grip && mode === "pin" && grip.kind === "source") this.#removePin(grip.index);
        else this.choose(mode, place(event), event.timeStamp);
      }
    };
    surface.addEventListener("pointerup", release);
    surface.addEventListener("pointercancel", release);
    surface.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
    surface.addEventListener("contextmenu", (event) => { if (event.ctrlKey) event.preventDefault(); });
    surface.addEventListener("wheel", (event) => {
      event.preventDefault();
      const step = event.deltaMode ? event.deltaY * 24 : event.deltaY;
      this.zoomAt(...place(event), Math.exp(-Math.max(-200, Math.min(step, 200)) * (event.ctrlKey ? 0.01 : 0.002)));
    }, { passive: false });
  }

  #removePin(index) {
    this.sources = this.sources.toSpliced(index, 1);
    this.ask();
  }

  /** Return the pin or the end of the route that is at a point of the screen. */
  #gripAt(at, wider = 1) {
    if (this.head.standalone) return null;
    // (a pin is taken by its head, and keeps its distance from the pointer)
    const gripped = (vertex, high) => {
      const [x, y] = this.toScreen(...this.places.at(vertex)), up = high * devicePixelRatio;
      const near = Math.hypot(at[0] - x, at[1] - y + up) < PIN * wider * devicePixelRatio;
      return near ? { away: [x - at[0], y - at[1]] } : null;
    };
    const target = this.target === null ? null : gripped(this.target, HEAD);
    if (target) return { kind: "target", ...target };
    for (const [index, vertex] of this.sources.entries()) {
      const source = gripped(vertex, this.sources.length > 1 ? HEAD : 0);
      if (source) return { kind: "source", index, ...source };
    }
    return null;
  }

  /** Move a pin; the map answers on the way. */
  #drag(grip, at, since) {
    const tip = [at[0] + grip.away[0], at[1] + grip.away[1]];
    const vertex = this.places.nearestVertex(...this.toMap(...tip));
    if (grip.kind === "target") {
      if (this.target === vertex) return;
      this.target = vertex;
    } else {
      if (this.sources[grip.index] === vertex) return;
      this.sources = this.sources.with(grip.index, vertex);
    }
    this.moved = performance.now();
    this.ask(since);
  }

  #hover(at, event) {
    const closing = event.altKey || this.mode === "close";
    const [x, y] = this.toMap(...at), reach = GRIP * devicePixelRatio / this.view.zoom;
    const street = closing && !this.head.standalone ? this.places.nearestStreet(x, y, reach) : -1;
    if (street !== this.hovered) {
      this.hovered = street;
      this.redraw();
    }
    this.surface.classList.toggle("grab", this.#gripAt(at) !== null);
    const tip = byId("tip"), vertex = this.places.nearestVertex(x, y, reach);
    tip.hidden = event.pointerType === "touch" || vertex < 0 || !this.facts || this.facts.bySource;
    if (tip.hidden) return;
    const value = this.drawing.values[vertex];
    tip.textContent = value === UNREACHED ? "not reached" : this.amount(this.toDistance(value));
    tip.style.left = `${event.clientX}px`;
    tip.style.top = `${event.clientY}px`;
  }

  #key(event) {
    this.tabbed = event.key === "Tab";
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.localName;
    if (field === "input" && event.key !== "Escape" && (event.target.type !== "range" || /^(Arrow|Page|Home|End)/.test(event.key))) return;
    if ((field === "button" || field === "summary") && (event.key === "Enter" || event.key === " ")) return;
    const move = 80 * devicePixelRatio, { width, height } = this.canvas;
    const middle = [width / 2, height / 2];
    const keys = {
      ArrowLeft: () => this.pan(move, 0), ArrowRight: () => this.pan(-move, 0),
      ArrowUp: () => this.pan(0, move), ArrowDown: () => this.pan(0, -move),
      "+": () => this.zoomAt(...middle, 1.5), "=": () => this.zoomAt(...middle, 1.5),
      "-": () => this.zoomAt(...middle, 1 / 1.5), 0: () => this.fit(),
      Enter: () => this.choose(this.mode, middle, event.timeStamp),
      1: () => this.setMode("start"), 2: () => this.setMode("route"),
      3: () => this.setMode("pin"), 4: () => this.setMode("close"),
      b: () => this.setBands(!this.bands), c: () => this.nextPalette(),
      d: () => this.setTheme(this.theme === "dark" ? "light" : "dark"),
      "[": () => this.setLimit(this.limitShare - 0.05), "]": () => this.setLimit(this.limitShare + 0.05),
      " ": () => this.play(), v: () => this.certify(), Escape: () => this.escape(),
    };
    const act = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!act || (this.head.standalone && /^[1-4v]$/.test(event.key))) return;
    event.preventDefault();
    if (/^(Arrow|[-+=0]$|Enter)/.test(event.key)) this.cross = true;
    act();
    this.redraw();
  }

  // -- the view ------------------------------------------------------------------------------

  toMap(x, y) {
    const { view, canvas } = this;
    return [view.x + (x - canvas.width / 2) / view.zoom, view.y - (y - canvas.height / 2) / view.zoom];
  }

  toScreen(x, y) {
    const { view, canvas } = this;
    return [(x - view.x) * view.zoom + canvas.width / 2, (view.y - y) * view.zoom + canvas.height / 2];
  }

  pan(dx, dy) {
    this.view.x -= dx / this.view.zoom;
    this.view.y += dy / this.view.zoom;
    this.redraw(true);
  }

  zoomAt(x, y, factor) {
    const [mapX, mapY] = this.toMap(x, y);
    this.view.zoom = Math.min(Math.max(this.view.zoom * factor, this.fitZoom / 4),
      Math.max(MOST_ZOOM * devicePixelRatio, this.fitZoom));
    const [movedX, movedY] = this.toMap(x, y);
    this.view.x += mapX - movedX;
    this.view.y += mapY - movedY;
    this.redraw(true);
  }

  /** Show the whole map, beside the panel. */
  fit() {
    const { west, south, east, north } = this.places.box, ratio = devicePixelRatio;
    const panel = byId("panel").getBoundingClientRect(), narrow = innerWidth <= 640;
    const left = narrow ? 0 : panel.right * ratio, bottom = narrow ? (innerHeight - panel.top) * ratio : 0;
    const wide = Math.max(this.canvas.width - left, 100), high = Math.max(this.canvas.height - bottom, 100);
    const zoom = 0.94 * Math.min(wide / Math.max(east - west, 1), high / Math.max(north - south, 1));
    this.fitZoom = zoom;
    this.view = { x: (west + east) / 2 - left / 2 / zoom, y: (south + north) / 2 - bottom / 2 / zoom, zoom };
    this.redraw();
  }

  #resize() {
    const width = Math.round(this.surface.clientWidth * devicePixelRatio);
    const height = Math.round(this.surface.clientHeight * devicePixelRatio);
    for (const canvas of [this.canvas, this.surface]) Object.assign(canvas, { width, height });
    this.redraw();
  }

  // -- colours and limits --------------------------------------------------------------------

  setTheme(theme) {
    this.theme = document.documentElement.dataset.theme = theme;
    if (this.drawing) this.setPalette(this.palette);
  }

  nextPalette() {
    const names = Object.keys(PALETTES);
    this.setPalette(names[(names.indexOf(this.palette) + 1) % names.length]);
  }

  /** Set the colours: what is near stands out from the ground, light or dark. */
  setPalette(name) {
    this.palette = name;
    byId("palette").textContent = name;
    const stops = PALETTES[name].split(" ").map(rgb);
    this.ramp = new Uint8Array(4 * 256);
    for (let i = 0; i < 256; i++) {
      const share = this.theme === "dark" ? 1 - i / 255 * (1 - DIM) : i / 255 * (1 - DIM);
      const at = share * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
      const part = at - low;
      for (let c = 0; c < 3; c++)
        this.ramp[4 * i + c] = Math.round(stops[low][c] * (1 - part) + stops[low + 1][c] * part);
      this.ramp[4 * i + 3] = 255;
    }
    const pins = PIN_COLORS.split(" ").map(rgb);
    this.pinColors = new Uint8Array(4 * 256);
    for (let i = 0; i < 256; i++) this.pinColors.set([...pins[i % pins.length], 255], 4 * i);
    this.drawing.setPalette(this.ramp);
    this.#showScale();
    this.redraw();
  }

  setBands(bands) {
    this.bands = bands;
    this.#showScale();
    this.redraw();
  }

  /** Set the limit to a share of the greatest distance; at 1 there is none. */
  setLimit(share) {
    if (this.facts) this.#setLimitStep(Math.round(Math.min(Math.max(share, 0), 1) * this.limitSteps));
  }

  /** How far the limit moves at once, a round number as people name limits, and how often. */
  get limitStep() {
    const width = this.facts.greatest - this.facts.least;
    return width > 0 ? niceStep(width / this.lengthOfUnit / 200) * this.lengthOfUnit : 1;
  }

  get limitSteps() { return Math.ceil((this.facts.greatest - this.facts.least) / this.limitStep); }

  #setLimitStep(number) {
    if (!this.facts) return;
    this.limit = number >= this.limitSteps ? null : this.facts.least + number * this.limitStep;
    this.spread = null;
    this.#showScale();
    this.#showAnswer();
    this.redraw(true);
  }

  get limitShare() {
    if (!this.facts) return 1;
    const { least, greatest } = this.facts;
    return this.limit === null || greatest <= least ? 1 : Math.min((this.limit - least) / (greatest - least), 1);
  }

  /** Where colours end, in values. */
  get domain() {
    const { least, greatest, step } = this.facts;
    return ((this.limit === null ? greatest : Math.min(this.limit, greatest)) - least) / step;
  }

  /** Where the palette ends: a few far corners would take the contrast from all the rest. */
  get paletteEnd() {
    if (this.bands) return this.domain;
    const all = this.#within(this.domain);
    let low = 0, high = Math.floor(this.domain);
    while (low < high) {
      const middle = low + high >> 1;
      if (this.#within(middle) < PALETTE_SHARE * all) low = middle + 1;
      else high = middle;
    }
    return low || this.domain;
  }

  /** How wide a band is, in units of the weights. */
  get bandWidth() {
    return niceStep(Math.max(this.domain * this.facts.step, 1e-12) / 7 / this.lengthOfUnit) * this.lengthOfUnit;
  }

  toDistance(value) { return this.facts.least + this.facts.step * value; }

  amount(distance) { return quantity(distance / this.head.unit.size, this.head.unit.name); }

  play() {
    if (!this.facts || this.facts.bySource) return;
    if (this.spread !== null) this.spread = null;
    else {
      const began = performance.now(), domain = this.domain;
      const step = (now) => {
        if (this.spread === null) return;
        this.spread = domain * Math.max(now - began, 0) / (SPREAD_SECONDS * 1000);
        if (this.spread >= domain) this.spread = null;
        else requestAnimationFrame(step);
        byId("play").classList.toggle("playing", this.spread !== null);
        this.#showLimit();
        this.redraw(true);
      };
      this.spread = 0;
      requestAnimationFrame(step);
    }
    byId("play").classList.toggle("playing", this.spread !== null);
    this.#showLimit();
    this.redraw();
  }

  // -- what is shown -------------------------------------------------------------------------

  #showAnswer() {
    const answer = byId("answer");
    answer.replaceChildren();
    const big = document.createElement("b"), small = document.createElement("span");
    if (this.target !== null && this.path) {
      const { path, head } = this;
      if (path.reached) {
        big.textContent = this.amount(path.distance);
        const length = document.createElement("small");
        const about = head.length.straight ? "about " : "";
        length.textContent = ` · ${about}${quantity(path.length / head.length.size, head.length.name)}`;
        big.append(length);
        small.textContent = `from ${path.labels[0]} to ${path.labels[1]}, over ${count(path.vertices.length)} crossings`;
        for (const way of path.others ?? []) {
          const other = document.createElement("span");
          other.className = "other";
          other.textContent = `or ${this.amount(way.distance)}, ${about}${quantity(way.length / head.length.size, head.length.name)}, ${percent(way.sharing)} on ways above`;
          answer.append(other);
        }
      } else {
        big.textContent = "No way";
        small.textContent = `leads to ${path.labels[1]}`;
      }
    } else if (this.head) {
      const hint = this.mode === "route" && this.routeStarted ? HINTS.routeTo : HINTS[this.mode];
      if (this.facts?.bySource) this.#showShares(big);
      else if (this.facts) {
        const within = this.#within(this.domain);
        big.textContent = percent(within / Math.max(this.head.vertices, 1));
        const what = document.createElement("small");
        what.textContent = this.limit === null ? " of all is reached" : ` within ${this.amount(this.limit)}`;
        big.append(what);
      }
      small.textContent = this.head.standalone ? this.#oneResultHint() : hint;
    }
    answer.prepend(big, small);
    byId("others").hidden = this.target === null || !this.path?.reached || this.sources.length !== 1 || Boolean(this.head.standalone);
    byId("others").setAttribute("aria-pressed", this.others);
    const { facts, timings } = this;
    byId("timing").textContent = facts?.milliseconds === undefined ? "" :
      `${facts.method}, ${facts.device}: ${facts.milliseconds.toFixed(1)} ms · click to answer: ${Math.round(timings.answered ?? 0)} ms`;
  }

  /** Show how many crossings are nearest to each pin. */
  #showShares(box) {
    const shares = new Uint32Array(this.sources.length);
    for (const one of this.drawing.values) if (one < shares.length) shares[one]++;
    const colors = PIN_COLORS.split(" ");
    box.className = "shares";
    shares.forEach((number, i) => {
      const share = document.createElement("span"), dot = document.createElement("i");
      dot.style.background = `#${colors[i % colors.length]}`;
      share.append(dot, percent(number / this.head.vertices));
      box.append(share);
    });
  }

  #oneResultHint() {
    const { labels } = this.head.result;
    const from = labels.length === 1 ? `from ${labels[0]}` : `from the nearest of ${count(labels.length)}`;
    return `${from}.${this.arrays.predecessors ? " Click a crossing for the route." : ""}`;
  }

  /** Count the vertices up to a value. */
  #within(value) {
    if (!this.counts) {
      this.counts = new Uint32Array(UNREACHED + 1);
      for (const one of this.drawing.values) this.counts[one]++;
      for (let i = 1; i < UNREACHED; i++) this.counts[i] += this.counts[i - 1];
    }
    return this.counts[Math.min(Math.floor(value + 1e-6), UNREACHED - 1)];
  }

  #showScale() {
    const box = byId("scale-of-colours");
    box.hidden = !this.facts || this.facts.bySource;
    this.#press("bands", this.bands ? "yes" : "no");
    if (box.hidden) return;
    const { least, greatest } = this.facts, share = this.limitShare;
    byId("limit").max = this.limitSteps;
    byId("limit").value = this.limit === null ? this.limitSteps : Math.round((this.limit - least) / this.limitStep);
    byId("limit").style.setProperty("--ramp", this.#gradient(share));
    const ticks = byId("ticks"), unit = this.lengthOfUnit, width = greatest - least;
    ticks.replaceChildren();
    // (at the edges of bands, where there are some)
    const step = this.bands ? this.bandWidth * Math.ceil(width / this.bandWidth / 6)
      : niceStep(width / unit / 6) * unit;
    for (let tick = Math.ceil(least / step) * step; width > 0 && tick <= greatest; tick += step) {
      const mark = document.createElement("span");
      const share = (tick - least) / width;
      mark.style.left = `${100 * share}%`;
      // (the last one stays within the panel)
      if (share > 0.9) mark.style.transform = "translateX(-75%)";
      mark.textContent = quantity(tick / unit, "");
      ticks.append(mark);
    }
    this.#showLimit();
  }

  #showLimit() {
    if (!this.facts) return;
    const { facts, spread } = this;
    const value = spread ?? this.domain;
    byId("limit-text").textContent = spread === null && this.limit === null
      ? `up to ${this.amount(facts.greatest)}` : `within ${this.amount(this.toDistance(value))}`;
    byId("within").textContent = count(this.#within(value));
    byId("limit").setAttribute("aria-valuetext", byId("limit-text").textContent);
  }

  #gradient(share) {
    const color = (t) => {
      const i = 4 * Math.round(Math.min(Math.max(t, 0), 1) * 255);
      return `rgb(${this.ramp[i]},${this.ramp[i + 1]},${this.ramp[i + 2]})`;
    };
    const stops = [], end = 100 * share, domain = this.domain * this.facts.step;
    if (this.bands && domain > 0) {
      for (let low = 0; low < domain; low += this.bandWidth) {
        const shade = color((low + this.bandWidth / 2) / domain);
        stops.push(`${shade} ${end * low / domain}% ${end * Math.min((low + this.bandWidth) / domain, 1)}%`);
      }
    } else {
      const part = this.paletteEnd / Math.max(this.domain, 1e-9);
      for (let i = 0; i <= 16; i++) stops.push(`${color(i / 16)} ${end * part * i / 16}%`);
      stops.push(`${color(1)} ${end}%`);
    }
    return `linear-gradient(90deg, ${stops.join(", ")}, var(--far) ${end}%)`;
  }

  #showClosures() {
    const number = this.closed.size;
    byId("closures").hidden = number === 0;
    byId("closures").firstElementChild.textContent = `${count(number)} closed street${number === 1 ? "" : "s"}`;
  }

  // -- drawing -------------------------------------------------------------------------------

  /** Draw soon; `moving` says that more is to come at once. */
  redraw(moving = false) {
    if (moving) this.moved = performance.now();
    this.stale = true;
    if (!this.begun || this.busy) return;
    this.busy = true;
    requestAnimationFrame(() => this.#frame());
  }

  async #frame() {
    this.stale = false;
    const began = performance.now(), moving = began - (this.moved ?? 0) < REST_MS;
    const stride = moving ? this.stride : 1;
    this.#draw(stride);
    await this.drawing.finished();
    const took = performance.now() - began;
    this.timings.frame = took;
    this.stride = Math.min(Math.max(Math.ceil(took * stride / FRAME_MS), 1), MOST_STRIDE);
    this.busy = false;
    clearTimeout(this.restTimer);
    if (this.stale) this.redraw();
    else if (stride > 1) this.restTimer = setTimeout(() => this.redraw(), REST_MS);
  }

  #draw(stride) {
    const facts = this.facts, [r, g, b] = rgb(this.theme === "dark" ? "0b0e14" : "fafaf7");
    const bySource = Boolean(facts?.bySource), domain = facts ? this.domain : 1;
    this.drawing.setPalette(bySource ? this.pinColors : this.ramp);
    this.drawing.draw({ ...this.view, width: this.canvas.width, height: this.canvas.height }, {
      background: [r / 255, g / 255, b / 255, 1],
      far: this.theme === "dark" ? [0.5, 0.55, 0.65, 0.28] : [0.42, 0.46, 0.54, 0.34],
      domain: facts && !bySource ? this.paletteEnd : 1, limit: this.spread ?? domain + 0.5, byNumber: bySource,
      band: this.bands && facts ? this.bandWidth / facts.step : 0,
      widths: this.#widths(), flowWidth: this.arrays.flows ? FLOW_WIDTH * devicePixelRatio : 0, stride,
    });
    this.#drawMarks();
    this.#drawScale();
  }

  #widths() {
    const ratio = devicePixelRatio, { zoom } = this.view;
    const closer = Math.min(1 + 0.22 * Math.max(Math.log2(zoom / this.fitZoom), 0), 2);
    return CLASS_WIDTHS.map((width, i) =>
      Math.min(Math.max(width * closer * ratio, STREET_METRES[i] * zoom), 18 * ratio));
  }

  /** Draw what lies on top of the streets: the route, what is closed, pins. */
  #drawMarks() {
    const pen = this.surface.getContext("2d"), ratio = devicePixelRatio;
    pen.clearRect(0, 0, this.surface.width, this.surface.height);
    pen.lineCap = pen.lineJoin = "round";
    const dark = this.theme === "dark";
    if (this.areas) this.#drawAreas(pen);
    if (this.target !== null && this.path?.reached) {
      const ways = [...(this.path.others ?? []).map((way) => [way.vertices, OTHER]), [this.path.vertices, ROUTE]];
      for (const [vertices, color] of ways) {
        pen.beginPath();
        for (const vertex of vertices) pen.lineTo(...this.toScreen(...this.places.at(vertex)));
        this.#stroke(pen, 8, dark ? "rgb(5 8 14 / .9)" : "rgb(255 255 255 / .95)");
        this.#stroke(pen, 4, color);
      }
    }
    for (const street of this.closed) this.#drawClosed(pen, street, 1);
    if (this.hovered >= 0 && !this.closed.has(this.hovered)) this.#drawClosed(pen, this.hovered, 0.55);
    const many = this.sources.length > 1;
    this.sources.forEach((vertex, i) => {
      const [x, y] = this.toScreen(...this.places.at(vertex));
      const paint = many && this.facts?.bySource ? `#${PIN_COLORS.split(" ")[i % 8]}` : "#fff";
      if (many) this.#drawPin(pen, x, y, paint);
      else this.#drawDot(pen, x, y);
    });
    if (this.target !== null) this.#drawPin(pen, ...this.toScreen(...this.places.at(this.target)), ROUTE);
    if (this.cross) {
      const [x, y] = [this.surface.width / 2, this.surface.height / 2];
      pen.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        pen.moveTo(x + 5 * dx * ratio, y + 5 * dy * ratio);
        pen.lineTo(x + 16 * dx * ratio, y + 16 * dy * ratio);
      }
      this.#stroke(pen, 5, dark ? "rgb(0 0 0 / .8)" : "rgb(255 255 255 / .9)");
      this.#stroke(pen, 2, dark ? "#fff" : "#000");
    }
  }

  #stroke(pen, width, color) {
    pen.lineWidth = width * devicePixelRatio;
    pen.strokeStyle = color;
    pen.stroke();
  }

  /** Draw areas over one another, so that what lies in most of them is darkest. */
  #drawAreas(pen) {
    for (const rings of this.outlines) {
      pen.beginPath();
      for (const ring of rings) {
        // (points that fall into one pixel are drawn once: there are many)
        let [x, y] = this.toScreen(...ring[0]);
        pen.moveTo(x, y);
        for (const point of ring) {
          const [nextX, nextY] = this.toScreen(...point);
          if (Math.abs(nextX - x) + Math.abs(nextY - y) < 2) continue;
          [x, y] = [nextX, nextY];
          pen.lineTo(x, y);
        }
        pen.closePath();
      }
      pen.fillStyle = `rgb(${AREA} / .18)`;
      pen.fill("evenodd");
      this.#stroke(pen, 0.75, `rgb(${AREA})`);
    }
  }

  #drawClosed(pen, street, alpha) {
    const [ax, ay, bx, by] = this.places.endsOf(street), ratio = devicePixelRatio;
    const [a, b] = [this.toScreen(ax, ay), this.toScreen(bx, by)];
    const [x, y] = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    pen.globalAlpha = alpha;
    pen.beginPath();
    pen.moveTo(...a);
    pen.lineTo(...b);
    this.#stroke(pen, 7, "rgb(5 8 14 / .85)");
    this.#stroke(pen, 4, CLOSED);
    pen.beginPath();
    pen.arc(x, y, 8 * ratio, 0, 2 * Math.PI);
    pen.fillStyle = CLOSED;
    pen.fill();
    this.#stroke(pen, 1.5, "#fff");
    pen.beginPath();
    pen.moveTo(x - 4 * ratio, y);
    pen.lineTo(x + 4 * ratio, y);
    this.#stroke(pen, 2.5, "#fff");
    pen.globalAlpha = 1;
  }

  #drawDot(pen, x, y) {
    const ratio = devicePixelRatio;
    pen.beginPath();
    pen.arc(x, y, 8 * ratio, 0, 2 * Math.PI);
    pen.fillStyle = "#fff";
    pen.fill();
    this.#stroke(pen, 3, "#10141d");
    pen.beginPath();
    pen.arc(x, y, 3 * ratio, 0, 2 * Math.PI);
    pen.fillStyle = "#10141d";
    pen.fill();
  }

  /** Draw a pin whose tip is at a point. */
  #drawPin(pen, x, y, paint) {
    const r = 9 * devicePixelRatio, high = 2.3 * r;
    pen.beginPath();
    pen.arc(x, y - high, r, Math.PI * 0.85, Math.PI * 0.15);
    pen.quadraticCurveTo(x + 0.35 * r, y - 0.8 * r, x, y);
    pen.quadraticCurveTo(x - 0.35 * r, y - 0.8 * r, x + r * Math.cos(Math.PI * 0.85), y - high + r * Math.sin(Math.PI * 0.85));
    pen.closePath();
    this.#stroke(pen, 4, "rgb(5 8 14 / .85)");
    pen.fillStyle = paint;
    pen.fill();
    pen.beginPath();
    pen.arc(x, y - high, 0.4 * r, 0, 2 * Math.PI);
    pen.fillStyle = "#10141d";
    pen.fill();
  }

  #drawScale() {
    const metres = niceStep(90 / (this.view.zoom / devicePixelRatio), true);
    byId("scale").firstElementChild.style.width = `${metres * this.view.zoom / devicePixelRatio}px`;
    byId("scale").lastElementChild.textContent = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
  }
}

// -- texts ---------------------------------------------------------------------------------------

function rgb(hex) {
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function count(number) { return number.toLocaleString("en-US"); }

function percent(share) {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

function quantity(number, unit) {
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  const text = number.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit ? `${text}\u00a0${unit}` : text;
}

function speedText({ from, to }) {
  if (to === null) return `${from} times the usual speed and more`;
  return from ? `${from} to ${to} times the usual speed` : `below ${to} times the usual speed`;
}

/** Return 1, 2 or 5 times a power of ten: the least that is no less, or the greatest no greater. */
function niceStep(least, below = false) {
  const power = 10 ** Math.floor(Math.log10(least));
  const steps = [1, 2, 5, 10];
  const found = below ? steps.findLast((step) => step * power <= least) : steps.find((step) => step * power >= least);
  return (found ?? 10) * power;
}

const page = new Page();
page.begin().catch((problem) => {
  document.body.dataset.state = "failed";
  byId("facts").textContent = problem.message;
  page.note(problem);
});
