// The control-flow graph of a function as a picture: blocks in ranks, edges down, loops' edges back up, constructs as shades.

const SVG = "http://www.w3.org/2000/svg";
const MOST_BLOCKS = 3000;
const WIDE = 96, HIGH = 34, GAP_X = 26, GAP_Y = 40;
/** Whether a word before a block says no successor but a place where the construct ends or goes on. */
const isRole = (op, word) => word === "merge" || word === "update" || (op === "loop" && word === "body");

/** Functions of a text: name, and blocks with label, first line, number of instructions and edges. */
function functionsIn(lines) {
  const found = [];
  let current = null, block = null;
  lines.forEach((line, i) => {
    if (HEAD.test(line)) {
      const name = (/@(?:"(?:[^"\\]|\\.)*"|[^\s(]+)/.exec(line) || ["?"])[0];
      current = { name, head: i, blocks: [] };
      if (line.endsWith("{")) found.push(current);
    } else if (current && /^b\d+:$/.test(line)) {
      block = { label: line.slice(0, -1), line: i, count: 0, last: "", edges: [] };
      current.blocks.push(block);
    } else if (line === "}") current = block = null;
    else if (block) { block.count++; block.last = line; }
  });
  for (const f of found) connect(f);
  return found;
}

function connect(f) {
  const index = new Map(f.blocks.map((b, i) => [b.label, i]));
  for (const block of f.blocks) {
    const text = block.last.replace(PLACE, "").replace(/"(?:[^"\\]|\\.)*"/g, "");
    const op = (/^\s*([a-z_]+)/.exec(text) || ["", ""])[1];
    for (const [, word, label] of text.matchAll(/(?:\b(case -?\d+|[a-z_]+) )?\b(b\d+)\b/g)) {
      const to = index.get(label);
      if (to !== undefined) block.edges.push({ to, word: word === "br" ? "" : word || "", role: isRole(op, word) });
    }
    block.construct = block.edges.some(e => e.role);
  }
}

/** Rank of each block: the longest way down from the entry, edges back left out. No recursion: functions are deep. */
function ranks(f) {
  const state = new Uint8Array(f.blocks.length), order = [];
  for (let root = 0; root < f.blocks.length; root++) {
    if (state[root]) continue;
    const stack = [[root, 0]];
    state[root] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1], edges = f.blocks[top[0]].edges;
      if (top[1] === edges.length) { state[top[0]] = 2; order.push(top[0]); stack.pop(); continue; }
      const edge = edges[top[1]++];
      if (state[edge.to] === 0) { state[edge.to] = 1; stack.push([edge.to, 0]); }
      else if (state[edge.to] === 1) edge.back = true;
    }
  }
  const rank = new Int32Array(f.blocks.length);
  for (const b of order.reverse()) {
    for (const e of f.blocks[b].edges) if (!e.back) rank[e.to] = Math.max(rank[e.to], rank[b] + 1);
  }
  return rank;
}

/** Places of the blocks: inside a rank by the middle of what leads there, twice down and once up. */
function places(f, rank) {
  const rows = [];
  rank.forEach((r, i) => (rows[r] = rows[r] || []).push(i));
  const x = new Float64Array(f.blocks.length);
  const into = f.blocks.map(() => []), out = f.blocks.map(() => []);
  f.blocks.forEach((b, i) => b.edges.forEach(e => { if (!e.back) { into[e.to].push(i); out[i].push(e.to); } }));
  const spread = row => row.forEach((b, i) => { x[b] = (i - (row.length - 1) / 2) * (WIDE + GAP_X); });
  rows.forEach(spread);
  const sweep = (list, near) => {
    for (const row of list) {
      const middle = b => near[b].length ? near[b].reduce((s, p) => s + x[p], 0) / near[b].length : x[b];
      const wish = new Map(row.map(b => [b, middle(b)]));
      row.sort((a, b) => wish.get(a) - wish.get(b));
      let free = -Infinity;
      for (const b of row) { x[b] = Math.max(wish.get(b), free); free = x[b] + WIDE + GAP_X; }
      const shift = row.reduce((s, b) => s + wish.get(b) - x[b], 0) / row.length;
      for (const b of row) x[b] += shift;
    }
  };
  sweep(rows, into);
  sweep([...rows].reverse(), out);
  sweep(rows, into);
  return f.blocks.map((_, i) => ({ x: x[i], y: rank[i] * (HIGH + GAP_Y) }));
}

/** The blocks of each construct: those reached from its arms before its merge. */
function regions(f) {
  const found = [];
  let budget = 200000;
  f.blocks.forEach((block, i) => {
    if (!block.construct || budget < 0) return;
    const merges = new Set(block.edges.filter(e => e.word === "merge").map(e => e.to));
    const inside = new Set([i]), pending = [i];
    while (pending.length && budget-- > 0) {
      for (const e of f.blocks[pending.pop()].edges) {
        if (e.role && e.word === "merge" && inside.size === 1) continue;
        if (merges.has(e.to) || inside.has(e.to)) continue;
        inside.add(e.to);
        pending.push(e.to);
      }
    }
    if (inside.size > 1 && inside.size < f.blocks.length) found.push([...inside]);
  });
  return found.sort((a, b) => b.length - a.length);
}

function make(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

/** The left ends of the blocks of each rank. */
function byLevel(at) {
  const levels = new Map();
  for (const { x, y } of at) levels.set(y, [...(levels.get(y) || []), x]);
  return levels;
}

/** Where an edge goes past blocks that are in its way: back up beside all of them, down beside the nearest free side. */
function around(from, to, edge, levels) {
  const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)], step = HIGH + GAP_Y;
  const [low, high] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
  let [left, right] = [Infinity, edge.back ? high : -Infinity];
  // Edges over very many ranks go straight: looking at each would take longer than the picture is worth.
  for (let y = edge.back ? top : top + step; edge.back ? y <= bottom : y < bottom; y += step) {
    if (bottom - top > 400 * step) break;
    for (const x of levels.get(y) || []) {
      if (!edge.back && (x + WIDE < low + WIDE / 2 - 6 || x > high + WIDE / 2 + 6)) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
  }
  if (edge.back) return right + WIDE + 18;
  if (right === -Infinity) return null;
  const middle = (low + high + WIDE) / 2;
  return right + WIDE - middle < middle - left ? right + WIDE + 12 : left - 12;
}

class Graph {
  constructor(onBlock) {
    this.host = document.getElementById("picture");
    this.note = document.getElementById("graph-note");
    this.onBlock = onBlock;
    this.view = { x: 0, y: 0, w: 800, h: 600 };
    this.host.addEventListener("wheel", event => { event.preventDefault(); this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, event); }, { passive: false });
    this.host.addEventListener("pointerdown", event => { this.drag = [event.clientX, event.clientY]; });
    addEventListener("pointerup", () => { this.drag = null; });
    addEventListener("pointermove", event => {
      if (!this.drag || !this.host.clientWidth) return;
      const scale = this.view.w / this.host.clientWidth;
      this.view.x -= (event.clientX - this.drag[0]) * scale;
      this.view.y -= (event.clientY - this.drag[1]) * scale;
      this.drag = [event.clientX, event.clientY];
      this.apply();
    });
    this.host.addEventListener("keydown", event => this.key(event));
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step) { this.view.x += step[0] * this.view.w / 10; this.view.y += step[1] * this.view.h / 10; }
    else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.2);
    else if (event.key === "-") this.zoom(1.2);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.apply();
  }

  zoom(factor, event) {
    const box = this.host.getBoundingClientRect();
    const [px, py] = event ? [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height] : [0.5, 0.5];
    this.view.x += this.view.w * px * (1 - factor);
    this.view.y += this.view.h * py * (1 - factor);
    this.view.w *= factor;
    this.view.h *= factor;
    this.apply();
  }

  apply() {
    const { x, y, w, h } = this.view;
    if (this.svg) this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
  }

  /** Draws a function; `touched` says of a line whether the pass changed it. */
  show(f, touched) {
    this.host.replaceChildren();
    this.svg = null;
    if (!f || !f.blocks.length) { this.note.textContent = "no function with a body"; return; }
    const edges = f.blocks.reduce((n, b) => n + b.edges.length, 0);
    this.note.textContent = `${f.blocks.length} blocks, ${edges} edges`;
    if (f.blocks.length > MOST_BLOCKS) { this.note.textContent += `: more than the ${MOST_BLOCKS} that a picture shows`; return; }
    const at = places(f, ranks(f));
    this.svg = make("svg", { role: "img", "aria-label": "Control-flow graph of " + f.name }, this.host);
    for (const region of regions(f)) this.region(region, at);
    const levels = byLevel(at);
    f.blocks.forEach((block, i) => block.edges.forEach(edge => this.edge(at[i], at[edge.to], edge, levels)));
    f.blocks.forEach((block, i) => this.block(block, at[i], touched));
    this.fit(at);
  }

  region(blocks, at) {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const b of blocks) {
      x0 = Math.min(x0, at[b].x); x1 = Math.max(x1, at[b].x + WIDE);
      y0 = Math.min(y0, at[b].y); y1 = Math.max(y1, at[b].y + HIGH);
    }
    make("rect", { class: "region", x: x0 - 8, y: y0 - 8, width: x1 - x0 + 16, height: y1 - y0 + 16, rx: 8 }, this.svg);
  }

  edge(from, to, edge, levels) {
    const [x0, y0, x1, y1] = [from.x + WIDE / 2, from.y + HIGH, to.x + WIDE / 2, to.y];
    const side = around(from, to, edge, levels);
    const path = edge.back || side !== null
      ? `M${x0} ${y0} C${x0} ${y0 + 26} ${side} ${y0 + 26} ${side} ${(y0 + y1) / 2} S${x1} ${y1 - 26} ${x1} ${y1}`
      : `M${x0} ${y0} C${x0} ${y0 + GAP_Y * 0.6} ${x1} ${y1 - GAP_Y * 0.6} ${x1} ${y1}`;
    make("path", { d: path, class: edge.back ? "back" : edge.role ? "role" : "" }, this.svg);
    make("path", { d: `M${x1 - 3} ${y1 - 6} L${x1} ${y1} L${x1 + 3} ${y1 - 6}`, class: edge.back ? "back" : "" }, this.svg);
    if (edge.word) {
      const word = make("text", { class: "word", x: x0 + (x1 - x0) * 0.25 + 3, y: y0 + 12 }, this.svg);
      word.textContent = edge.word;
    }
  }

  block(block, at, touched) {
    const group = make("g", { class: "block" + (touched(block) ? " touched" : ""), tabindex: 0, role: "button" }, this.svg);
    make("rect", { x: at.x, y: at.y, width: WIDE, height: HIGH, rx: 5 }, group);
    make("text", { x: at.x + 8, y: at.y + 14 }, group).textContent = block.label;
    make("text", { x: at.x + 8, y: at.y + 27, class: "word" }, group).textContent = block.count + " inst.";
    make("title", {}, group).textContent = block.last.replace(PLACE, "").trim();
    const go = () => this.onBlock(block.line);
    group.addEventListener("click", go);
    group.addEventListener("keydown", event => { if (event.key === "Enter") go(); });
  }

  fit(at) {
    const xs = at.map(p => p.x), ys = at.map(p => p.y);
    const least = list => list.reduce((a, b) => Math.min(a, b), Infinity), most = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
    const x = least(xs) - 40, y = least(ys) - 30;
    const w = most(xs) + WIDE + 60 - x, h = most(ys) + HIGH + 50 - y;
    const aspect = (this.host.clientWidth || 800) / (this.host.clientHeight || 600);
    // Deep graphs start at their top in a readable size rather than whole and tiny.
    const width = Math.min(Math.max(w, h * aspect), Math.max(w, 1600));
    this.view = { x: x - (width - w) / 2, y, w: width, h: width / aspect };
    this.apply();
  }
}
