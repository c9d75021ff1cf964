"use strict";
// Draws streets, coloured by a number at each of their ends: WebGL 2, and no library.
//
// Two textures hold a street each pixel: where its ends lie, and the 16-bit values of both. The
// shader looks up what it draws by the number of the corner. A new answer costs one upload of
// four bytes a street; a new limit, palette or view costs nothing.

const TEXTURE_WIDTH = 2048;
const UNREACHED = 65535;
/** Of the two triangles that are a street: tail, tail, head; tail, head, head. */
const CORNERS = 6;
/** Streets that are left out together if none of them can be seen. */
const CHUNK = 2048;

const VERTEX_SHADER = `#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D ends;     // of every street, in metres
uniform highp usampler2D values;  // of both ends
uniform int first, stride;        // street drawn first, and how many are skipped
uniform vec2 centre, size;        // of the view: in metres, in pixels
uniform float zoom, width;        // pixels a metre; of a street, in pixels
uniform sampler2D flows;          // of every street, from 0 to 1
uniform float flowWidth;          // of the greatest flow, in pixels
flat out vec2 endValues;
flat out float wide;
out float value, offset;

void main() {
  int street = first + gl_VertexID / ${CORNERS} * stride, corner = gl_VertexID % ${CORNERS};
  bool atTail = corner < 2 || corner == 3;
  ivec2 texel = ivec2(street & ${TEXTURE_WIDTH - 1}, street / ${TEXTURE_WIDTH});
  endValues = vec2(texelFetch(values, texel, 0).xy);
  value = atTail ? endValues.x : endValues.y;
  wide = width + flowWidth * texelFetch(flows, texel, 0).x;
  vec4 both = (texelFetch(ends, texel, 0) - centre.xyxy) * zoom;
  vec2 along = both.zw - both.xy;
  float extent = length(along);
  along = extent > 0.0 ? along / extent : vec2(1, 0);
  offset = (corner % 2 == 1 ? 0.5 : -0.5) * (wide + 1.0);
  // (half a cap at both ends closes the gap between streets that meet at an angle)
  vec2 end = atTail ? both.xy - 0.25 * wide * along : both.zw + 0.25 * wide * along;
  end += offset * vec2(-along.y, along.x);
  gl_Position = vec4(end * 2.0 / size, 0, 1);
}`;

const FRAGMENT_SHADER = `#version 300 es
precision highp float;
precision highp int;
uniform sampler2D palette;
uniform vec4 far;            // what is not reached, or beyond the limit
uniform float domain, limit; // values: where the palette ends, where colours do
uniform float band;          // values a band has; 0: no bands
uniform bool byNumber;       // values are numbers of sources
flat in vec2 endValues;
flat in float wide;
in float value, offset;
out vec4 color;

vec4 colorOf(float v) {
  if (byNumber)
    return endValues.x == endValues.y
      ? texelFetch(palette, ivec2(int(endValues.x) % 256, 0), 0) : far;
  if (v > limit) return far;
  // (a band ends at its limit, inclusive)
  float shown = band > 0.0 ? (max(ceil(v / band), 1.0) - 0.5) * band : v;
  return texelFetch(palette, ivec2(int(clamp(shown / domain, 0.0, 1.0) * 255.0 + 0.5), 0), 0);
}

void main() {
  bool reached = max(endValues.x, endValues.y) < ${UNREACHED}.0;
  vec4 paint = reached ? colorOf(value) : far;
  float cover = clamp(0.5 * wide + 0.5 - abs(offset), 0.0, 1.0);
  color = vec4(paint.rgb, 1) * (paint.a * cover);
}`;

/** Boxes around runs of streets that lie together: [west, south, east, north] of each. */
class Chunks {
  constructor(positions, streets) {
    this.count = Math.ceil(streets.length / 2 / CHUNK);
    this.streets = streets.length / 2;
    this.boxes = new Float32Array(4 * this.count);
    for (let chunk = 0; chunk < this.count; chunk++) {
      let west = Infinity, south = Infinity, east = -Infinity, north = -Infinity;
      const end = 2 * Math.min((chunk + 1) * CHUNK, this.streets);
      for (let i = 2 * chunk * CHUNK; i < end; i++) {
        const x = positions[2 * streets[i]], y = positions[2 * streets[i] + 1];
        west = Math.min(west, x); east = Math.max(east, x);
        south = Math.min(south, y); north = Math.max(north, y);
      }
      this.boxes.set([west, south, east, north], 4 * chunk);
    }
  }

  /** Yield runs [first, end) of the streets of chunks that meet a box. */
  *within(west, south, east, north) {
    let start = -1;
    for (let chunk = 0; chunk <= this.count; chunk++) {
      const box = 4 * chunk;
      const seen = chunk < this.count && this.boxes[box] <= east && this.boxes[box + 2] >= west
        && this.boxes[box + 1] <= north && this.boxes[box + 3] >= south;
      if (seen && start < 0) start = chunk;
      if (!seen && start >= 0) {
        yield [start * CHUNK, Math.min(chunk * CHUNK, this.streets)];
        start = -1;
      }
    }
  }
}

class Drawing {
  /** @throws {Error} if the browser has no WebGL 2 */
  constructor(canvas, map, chunks) {
    this.canvas = canvas;
    this.chunks = chunks;
    this.streets = map.streets;
    this.runs = runsOf(map.classes);
    const room = TEXTURE_WIDTH * Math.max(Math.ceil(map.streets.length / 2 / TEXTURE_WIDTH), 1);
    this.ends = new Float32Array(4 * room);
    for (let i = 0; i < map.streets.length; i++) {
      this.ends[2 * i] = map.positions[2 * map.streets[i]];
      this.ends[2 * i + 1] = map.positions[2 * map.streets[i] + 1];
    }
    this.values = new Uint16Array(map.positions.length / 2).fill(UNREACHED);
    this.endValues = new Uint16Array(2 * room);
    this.colors = new Uint8Array(4 * 256);
    this.flows = new Uint8Array(room);
    this.flows.set(map.flows ?? []);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.#setUp();
      canvas.dispatchEvent(new Event("redraw"));
    });
    this.#setUp();
  }

  #setUp() {
    const gl = this.canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!gl) throw new Error("this browser has no WebGL 2, which draws the map");
    this.gl = gl;
    const program = linked(gl, VERTEX_SHADER, FRAGMENT_SHADER);
    gl.useProgram(program);
    this.at = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(program, i);
      this.at[name] = gl.getUniformLocation(program, name);
    }
    gl.bindVertexArray(gl.createVertexArray());
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const rows = this.ends.length / 4 / TEXTURE_WIDTH;
    if (rows > gl.getParameter(gl.MAX_TEXTURE_SIZE))
      throw new Error("the map is too large for this graphics card");
    this.#newTexture("ends", 0, gl.RGBA32F, TEXTURE_WIDTH, rows);
    this.#newTexture("values", 1, gl.RG16UI, TEXTURE_WIDTH, rows);
    this.#newTexture("palette", 2, gl.RGBA8, 256, 1);
    this.#newTexture("flows", 3, gl.R8, TEXTURE_WIDTH, rows);
    this.#fill(3, TEXTURE_WIDTH, rows, gl.RED, gl.UNSIGNED_BYTE, this.flows);
    this.#fill(0, TEXTURE_WIDTH, rows, gl.RGBA, gl.FLOAT, this.ends);
    this.setValues(this.values);
    this.setPalette(this.colors);
  }

  #newTexture(name, unit, format, width, rows) {
    const gl = this.gl;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, rows);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.uniform1i(this.at[name], unit);
  }

  #fill(unit, width, rows, format, type, data) {
    const gl = this.gl;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, rows, format, type, data);
  }

  /** Set the value of every vertex. */
  setValues(values) {
    this.values = values;
    const { gl, streets, endValues } = this;
    for (let i = 0; i < streets.length; i++) endValues[i] = values[streets[i]];
    this.#fill(1, TEXTURE_WIDTH, endValues.length / 2 / TEXTURE_WIDTH, gl.RG_INTEGER,
      gl.UNSIGNED_SHORT, endValues);
  }

  /** Set 256 colours, four bytes each. */
  setPalette(colors) {
    this.colors = colors;
    this.#fill(2, 256, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, colors);
  }

  /**
   * Draw.
   * @param view centre x and y in metres, zoom in pixels a metre, width and height in pixels
   * @param style background and far as [r, g, b, a] from 0 to 1, domain, limit, band, byNumber,
   *     widths of the classes in pixels; stride: draw every so manieth street
   */
  draw(view, style) {
    const gl = this.gl, at = this.at;
    const { x, y, zoom, width, height } = view, { stride } = style;
    gl.viewport(0, 0, width, height);
    gl.clearColor(...style.background);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(at.centre, x, y);
    gl.uniform2f(at.size, width, height);
    gl.uniform1f(at.zoom, zoom);
    gl.uniform4fv(at.far, style.far);
    gl.uniform1f(at.domain, Math.max(style.domain, 1e-9));
    gl.uniform1f(at.limit, style.limit);
    gl.uniform1f(at.band, style.band);
    gl.uniform1i(at.byNumber, style.byNumber ? 1 : 0);
    gl.uniform1i(at.stride, stride);
    gl.uniform1f(at.flowWidth, style.flowWidth);
    const margin = Math.max(...style.widths) + style.flowWidth;
    const wide = (width / 2 + margin) / zoom, high = (height / 2 + margin) / zoom;
    const seen = [...this.chunks.within(x - wide, y - high, x + wide, y + high)];
    for (const [kind, from, to] of this.runs) {
      gl.uniform1f(at.width, style.widths[kind]);
      for (const [first, end] of seen) {
        const low = Math.max(first, from), streets = Math.ceil((Math.min(end, to) - low) / stride);
        if (streets <= 0) continue;
        gl.uniform1i(at.first, low);
        gl.drawArrays(gl.TRIANGLES, 0, CORNERS * streets);
      }
    }
  }

  /** Return what resolves when all that was drawn is on its way to the screen. */
  finished() {
    const gl = this.gl, fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return new Promise((resolve) => {
      const look = () => {
        if (gl.isContextLost() || gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED) {
          gl.deleteSync(fence);
          resolve();
        } else setTimeout(look, 4);
      };
      setTimeout(look, 0);
    });
  }
}

function linked(gl, ...sources) {
  const program = gl.createProgram();
  for (const [i, source] of sources.entries()) {
    const shader = gl.createShader(i ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
      throw new Error(gl.getShaderInfoLog(shader));
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Error(gl.getProgramInfoLog(program));
  return program;
}

/** Return the runs of streets of one class: [class, first, end] of each. */
function runsOf(classes) {
  const runs = [];
  for (let i = 0; i < classes.length; i++) {
    if (!i || classes[i] !== classes[i - 1]) runs.push([classes[i], i, i]);
    runs.at(-1)[2] = i + 1;
  }
  return runs;
}
