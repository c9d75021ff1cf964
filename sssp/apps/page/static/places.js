"use strict";
// Where things are: which vertex or street is nearest to a point of the map.

/** Vertices that a cell of the grid holds on average. */
const IN_A_CELL = 2;

class Places {
  constructor(map, chunks) {
    this.positions = map.positions;
    this.streets = map.streets;
    this.chunks = chunks;
    this.n = map.positions.length / 2;
    this.box = boxOf(map.positions);
    this.#fillGrid();
  }

  /** Sort the vertices by the cells of a grid: cell c has vertices[first[c]] to [first[c + 1]]. */
  #fillGrid() {
    const { west, south, east, north } = this.box;
    const area = Math.max((east - west) * (north - south), 1);
    this.side = Math.sqrt(area * IN_A_CELL / Math.max(this.n, 1));
    this.wide = Math.floor((east - west) / this.side) + 1;
    this.high = Math.floor((north - south) / this.side) + 1;
    this.first = new Uint32Array(this.wide * this.high + 1);
    const cells = new Uint32Array(this.n);
    for (let v = 0; v < this.n; v++) {
      cells[v] = this.#column(this.positions[2 * v]) + this.wide * this.#row(this.positions[2 * v + 1]);
      this.first[cells[v] + 1]++;
    }
    for (let c = 0; c < this.wide * this.high; c++) this.first[c + 1] += this.first[c];
    const next = this.first.slice();
    this.vertices = new Uint32Array(this.n);
    for (let v = 0; v < this.n; v++) this.vertices[next[cells[v]]++] = v;
  }

  #column(x) {
    return Math.min(Math.max(Math.floor((x - this.box.west) / this.side), 0), this.wide - 1);
  }

  #row(y) {
    return Math.min(Math.max(Math.floor((y - this.box.south) / this.side), 0), this.high - 1);
  }

  /** Return the vertex nearest to a point, -1 if there is none within a distance (Infinity: any). */
  nearestVertex(x, y, within = Infinity) {
    let best = -1, least = within * within;
    const column = this.#column(x), row = this.#row(y);
    const rings = Math.max(this.wide, this.high);
    // how far outside of the grid the point is, at least
    const outside = Math.max(this.box.west - x, x - this.box.east, this.box.south - y,
      y - this.box.north, 0);
    for (let ring = 0; ring < rings; ring++) {
      if (Math.max(outside, (ring - 1) * this.side) ** 2 > least) break;
      for (const cell of this.#ring(column, row, ring)) {
        for (let i = this.first[cell]; i < this.first[cell + 1]; i++) {
          const v = this.vertices[i];
          const dx = this.positions[2 * v] - x, dy = this.positions[2 * v + 1] - y;
          if (dx * dx + dy * dy <= least) { least = dx * dx + dy * dy; best = v; }
        }
      }
    }
    return best;
  }

  *#ring(column, row, ring) {
    for (let r = Math.max(row - ring, 0); r <= Math.min(row + ring, this.high - 1); r++) {
      const edge = r === row - ring || r === row + ring;
      const step = edge || ring === 0 ? 1 : 2 * ring;
      for (let c = column - ring; c <= column + ring; c += step)
        if (c >= 0 && c < this.wide) yield c + this.wide * r;
    }
  }

  /** Return the street nearest to a point, -1 if there is none within a distance. */
  nearestStreet(x, y, within) {
    let best = -1, least = within * within;
    for (const [first, end] of this.chunks.within(x - within, y - within, x + within, y + within)) {
      for (let street = first; street < end; street++) {
        const away = this.#squaredDistance(street, x, y);
        if (away <= least) { least = away; best = street; }
      }
    }
    return best;
  }

  #squaredDistance(street, x, y) {
    const [ax, ay, bx, by] = this.endsOf(street);
    const dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
    const part = square && Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / square, 0), 1);
    return (ax + part * dx - x) ** 2 + (ay + part * dy - y) ** 2;
  }

  /** Return where a street begins and ends. */
  endsOf(street) {
    const a = 2 * this.streets[2 * street], b = 2 * this.streets[2 * street + 1];
    const p = this.positions;
    return [p[a], p[a + 1], p[b], p[b + 1]];
  }

  at(vertex) {
    return [this.positions[2 * vertex], this.positions[2 * vertex + 1]];
  }
}

function boxOf(positions) {
  let west = Infinity, south = Infinity, east = -Infinity, north = -Infinity;
  for (let i = 0; i < positions.length; i += 2) {
    west = Math.min(west, positions[i]); east = Math.max(east, positions[i]);
    south = Math.min(south, positions[i + 1]); north = Math.max(north, positions[i + 1]);
  }
  return west <= east ? { west, south, east, north } : { west: 0, south: 0, east: 1, north: 1 };
}
