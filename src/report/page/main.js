// The page: passes on the left, what was chosen on the right.

const data = JSON.parse(document.getElementById("data").textContent);
const sides = data.reports.map(r => new Side(r.name, r.report));
const two = sides.length === 2;
const element = id => document.getElementById(id);

/** What can be chosen: a run, or with two reports a pair of runs of the same pass. */
const entries = two ? paired(sides[0].runs, sides[1].runs) : sides[0].runs.map((_, i) => [i]);

/** Pairs runs of the same pass in order; what only one side has stands alone (-1 on the other). */
function paired(a, b) {
  const edits = compared(a.map(r => r.name), b.map(r => r.name));
  const pairs = [];
  let i = 0, j = 0;
  for (const edit of [...edits, { keep: a.length, remove: 0, insert: [] }]) {
    for (let n = 0; n < edit.keep && i < a.length && j < b.length; n++) pairs.push([i++, j++]);
    for (let n = 0; n < edit.remove; n++) pairs.push([i++, -1]);
    for (let n = 0; n < edit.insert.length; n++) pairs.push([-1, j++]);
  }
  return pairs;
}

const runOf = (entry, side) => entry[side] >= 0 ? sides[side].runs[entry[side]] : null;
const anyRun = entry => runOf(entry, 0) || runOf(entry, 1);
/** How many passes of a side have run once the entry is done. */
const momentOf = (index, side) => {
  for (let i = index; i >= 0; i--) if (entries[i][side] >= 0) return entries[i][side] + 1;
  return 0;
};

const differs = entry => {
  const [a, b] = [runOf(entry, 0), two ? runOf(entry, 1) : null];
  if (!two) return a.changed;
  return !a || !b || a.instructions_after !== b.instructions_after || JSON.stringify(a.counters) !== JSON.stringify(b.counters);
};

let chosen = 0;
const code = new Code();
const emitted = new EmittedView(sides[sides.length - 1]);
const graph = new Graph(line => { tab("code"); code.revealLine(element("moment").value === "after" ? 1 : 0, line); });
let moments = [[], []];
let stale = { graph: true };

function choose(index) {
  chosen = Math.min(Math.max(index, 0), entries.length - 1);
  if (!entries.length) return;
  const entry = entries[chosen];
  const before = two ? sides[0].lines(momentOf(chosen, 0)) : sides[0].lines(entry[0]);
  const after = two ? sides[1].lines(momentOf(chosen, 1)) : sides[0].lines(entry[0] + 1);
  moments = [before, after];
  code.show(before, after, two ? compared(before, after) : sides[0].edits(entry[0]));
  element("facts").textContent = element("facts").title = facts(entry);
  stale.graph = true;
  if (!element("graph").hidden) drawGraph();
  for (const row of document.querySelectorAll(".pass")) {
    const here = Number(row.dataset.index) === chosen;
    row.setAttribute("aria-selected", here);
    if (here) { row.scrollIntoView({ block: "nearest" }); element("passes").setAttribute("aria-activedescendant", row.id); }
  }
  for (const bar of document.querySelectorAll(".bar")) bar.classList.toggle("here", Number(bar.dataset.index) === chosen);
}

function facts(entry) {
  const one = run => {
    if (!run) return "did not run";
    const counters = Object.entries(run.counters).map(([k, v]) => `${k} ${v}`).join(", ");
    return `${run.elapsed_ms.toFixed(3)} ms · instructions ${run.instructions_before} → ${run.instructions_after} · blocks ${run.blocks_before} → ${run.blocks_after} · ` +
      `${Math.round(run.memory_before / 1024)} → ${Math.round(run.memory_after / 1024)} KiB · ${run.changed ? counters : "no change"}`;
  };
  return two ? `${sides[0].name}: ${one(runOf(entry, 0))}  |  ${sides[1].name}: ${one(runOf(entry, 1))}` : one(runOf(entry, 0));
}

function listPasses() {
  const host = element("passes"), wanted = element("find").value.toLowerCase(), only = element("changed").checked;
  host.replaceChildren();
  entries.forEach((entry, index) => {
    const run = anyRun(entry);
    if ((only && !differs(entry)) || !run.name.toLowerCase().includes(wanted)) return;
    const row = document.createElement("div");
    row.className = "pass" + (differs(entry) ? "" : " same");
    row.id = "pass-" + index;
    row.dataset.index = index;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", index === chosen);
    const delta = two
      ? (runOf(entry, 1) || run).instructions_after - (runOf(entry, 0) || run).instructions_after
      : run.instructions_after - run.instructions_before;
    piece(row, "n", String(index + 1));
    piece(row, "name", run.name + (two && entry.includes(-1) ? (entry[0] < 0 ? " (2nd only)" : " (1st only)") : ""));
    piece(row, "d " + (delta < 0 ? "less" : delta > 0 ? "more" : ""), delta > 0 ? "+" + delta : delta ? String(delta) : "");
    piece(row, "ms", run.elapsed_ms.toFixed(2));
    row.title = facts(entry);
    row.addEventListener("click", () => choose(index));
    host.append(row);
  });
}

/** Steps to the next listed pass. */
function move(by) {
  const listed = [...document.querySelectorAll(".pass")].map(row => Number(row.dataset.index));
  if (!listed.length) return;
  let at = listed.indexOf(chosen);
  if (at < 0) at = by > 0 ? -1 : listed.length;
  choose(listed[Math.min(Math.max(at + by, 0), listed.length - 1)]);
}

function chart(caption, draw) {
  const figure = document.createElement("figure"), note = document.createElement("figcaption");
  note.textContent = caption;
  const svg = make("svg", { viewBox: "0 0 1000 60", preserveAspectRatio: "none", role: "img", "aria-label": caption });
  draw(svg);
  figure.append(note, svg);
  element("charts").append(figure);
}

function charts() {
  const total = side => side.report.runs.reduce((s, r) => s + r.elapsed_ms, 0).toFixed(2);
  const width = 1000 / Math.max(1, entries.length);
  const most = (side, value) => side.runs.reduce((m, r) => Math.max(m, value(r)), 1e-9);
  const times = Math.max(...sides.map(s => most(s, r => r.elapsed_ms)));
  chart("Time of each pass, ms (total " + sides.map(total).join(" and ") + ")", svg => {
    entries.forEach((entry, i) => sides.forEach((side, s) => {
      const run = runOf(entry, s);
      if (!run) return;
      const high = Math.max(1, 58 * run.elapsed_ms / times), part = width / sides.length;
      const bar = make("rect", { class: "bar" + (two && s === 0 ? " other" : ""), x: i * width + s * part, y: 60 - high, width: Math.min(40, Math.max(1, part * 0.8)), height: high }, svg);
      bar.dataset.index = i;
      make("title", {}, bar).textContent = `${run.name}: ${run.elapsed_ms.toFixed(3)} ms`;
      bar.addEventListener("click", () => choose(i));
    }));
  });
  const sizes = Math.max(...sides.map(s => most(s, r => Math.max(r.instructions_after, r.instructions_before))));
  const ends = sides.map(s => s.runs.length ? `${s.runs[0].instructions_before} → ${s.runs[s.runs.length - 1].instructions_after}` : "-");
  chart("Instructions (" + ends.join(" and ") + ")", svg => sides.forEach((side, s) => {
    const points = [];
    entries.forEach((entry, i) => {
      const run = runOf(entry, s);
      if (!run) return;
      const y = n => (60 - 56 * n / sizes).toFixed(2);
      points.push(`${i * width} ${y(run.instructions_before)}`, `${i * width + width} ${y(run.instructions_after)}`);
    });
    if (points.length) make("path", { class: "curve" + (two && s === 0 ? " other" : ""), d: "M" + points.join(" L") }, svg);
  }));
}

function drawGraph() {
  stale.graph = false;
  const which = element("moment").value === "after" ? 1 : 0;
  const functions = functionsIn(moments[which]);
  const select = element("function"), name = select.value;
  select.replaceChildren(...functions.map(f => {
    const option = document.createElement("option");
    option.textContent = option.value = f.name;
    return option;
  }));
  if (functions.some(f => f.name === name)) select.value = name;
  const f = functions[Math.max(0, select.selectedIndex)];
  const { rows } = code, touched = new Uint8Array(moments[which].length + 1);
  for (let i = 0; i < rows.length; i++) {
    const line = (which ? rows.right : rows.left)[i];
    if (rows.kind[i] !== SAME && line >= 0) touched[line] = 1;
  }
  graph.show(f, block => touched.subarray(block.line, block.line + block.count + 1).includes(1));
}

function tab(name) {
  for (const id of ["code", "graph", "emitted"]) {
    element(id).hidden = id !== name;
    element("tab-" + id).setAttribute("aria-selected", id === name);
    element("tab-" + id).tabIndex = id === name ? 0 : -1;
  }
  if (name === "graph" && stale.graph) drawGraph();
  if (name === "emitted") emitted.open();
  if (name === "code") { code.left.later(); code.right.later(); code.drawOverview(); }
}

function toggle(id) {
  element(id).checked = !element(id).checked;
  element(id).dispatchEvent(new Event("change"));
}

const KEYS = {
  ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
  Home: () => move(-Infinity), End: () => move(Infinity),
  n: () => step(1), p: () => step(-1), o: () => code.open(), v: () => code.nextValue(), 1: () => tab("code"), 2: () => tab("graph"), 3: () => tab("emitted"),
  c: () => toggle("changed"), f: () => toggle("fold"), "/": () => element("find").focus(), t: () => theme(),
  Escape: () => { lit.pin = lit.hot = ""; relight(); },
};

/** A change of the code, or a line of the kernel that something was made of. */
function step(by) {
  if (element("emitted").hidden) code.step(by);
  else emitted.step(by);
}

function theme() {
  document.documentElement.classList.toggle("dark");
  code.drawOverview();
}

document.addEventListener("keydown", event => {
  const field = event.target.matches("input[type=search], select");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (field) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // Panes scroll with the arrows once they have the focus.
  if (["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) && event.target.closest(".pane")) return;
  if (event.target.matches("[role=tab]") && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
    const all = ["code", "graph", "emitted"], at = all.findIndex(id => event.target.id === "tab-" + id);
    const next = all[(at + (event.key === "ArrowRight" ? 1 : all.length - 1)) % all.length];
    tab(next);
    element("tab-" + next).focus();
    return;
  }
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

function start() {
  document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
  element("title").textContent = data.title;
  document.title = data.title;
  element("summary").textContent = element("summary").title = sides.map(s => s.report.pipeline).join("   |   ");
  element("find").addEventListener("input", listPasses);
  element("changed").addEventListener("change", listPasses);
  element("fold").addEventListener("change", () => code.arrange());
  element("next").addEventListener("click", () => code.step(1));
  element("previous").addEventListener("click", () => code.step(-1));
  element("theme").addEventListener("click", theme);
  element("function").addEventListener("change", drawGraph);
  element("moment").addEventListener("change", drawGraph);
  for (const id of ["code", "graph", "emitted"]) element("tab-" + id).addEventListener("click", () => tab(id));
  if (two) {
    element("left").setAttribute("aria-label", sides[0].name);
    element("right").setAttribute("aria-label", sides[1].name);
  }
  if (sides.some(s => !s.trace)) element("facts").textContent = "this report has no code";
  charts();
  listPasses();
  tab("code");
  const first = entries.findIndex(differs);
  choose(first < 0 ? 0 : first);
  document.body.dataset.ready = "yes";
}

start();
