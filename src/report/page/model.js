"use strict";
// The reports as data: what the code was at each moment, and how two moments compare.

const SAME = 0, PAIRED = 1, GONE = 2, NEW = 3;
const CHECKPOINT = 8;

/** A report; `lines(i)` is the code after the first `i` runs of passes. */
class Side {
  constructor(name, report) {
    this.name = name;
    this.report = report;
    this.trace = report.trace || null;
    this.runs = this.trace ? this.trace.steps.map(step => step.run) : flat(report.runs);
    this.kept = new Map(this.trace ? [[0, this.trace.lines]] : []);
  }

  edits(i) { return this.trace ? this.trace.steps[i].edits : []; }

  lines(i) {
    if (!this.trace) return [];
    let at = i;
    while (!this.kept.has(at)) at--;
    let lines = this.kept.get(at);
    for (; at < i; at++) {
      lines = applied(lines, this.edits(at));
      // Checkpoints bound both the time to go back and the memory that it takes.
      if ((at + 1) % CHECKPOINT === 0 || at + 1 === i) this.kept.set(at + 1, lines);
    }
    return lines;
  }
}

/** Runs without a trace: groups give way to their passes. */
function flat(runs) {
  const all = [];
  const pending = [...runs].reverse();
  while (pending.length) {
    const run = pending.pop();
    if (run.children && run.children.length) pending.push(...[...run.children].reverse());
    else all.push(run);
  }
  return all;
}

function applied(lines, edits) {
  if (!edits.length) return lines;
  const parts = [];
  let at = 0;
  for (const edit of edits) {
    for (let end = at + edit.keep; at < end; at++) parts.push(lines[at]);
    at += edit.remove;
    for (const line of edit.insert) parts.push(line);
  }
  for (; at < lines.length; at++) parts.push(lines[at]);
  return parts;
}

/** Rows of a comparison: for each the line on the left, on the right (or -1), and what happened. */
class Rows {
  constructor(length) {
    this.left = new Int32Array(length);
    this.right = new Int32Array(length);
    this.kind = new Uint8Array(length);
    this.length = 0;
    this.hunks = [];
  }

  push(left, right, kind) {
    this.left[this.length] = left;
    this.right[this.length] = right;
    this.kind[this.length++] = kind;
  }
}

/** Rows from edits: lines that went stand beside those that came in their place. */
function rowsOf(before, edits) {
  let total = before;
  for (const edit of edits) total += edit.insert.length;
  const rows = new Rows(total);
  let left = 0, right = 0;
  for (const edit of edits) {
    for (let i = 0; i < edit.keep; i++) rows.push(left++, right++, SAME);
    const added = edit.insert.length;
    rows.hunks.push(rows.length);
    for (let i = 0; i < Math.max(edit.remove, added); i++) {
      const goes = i < edit.remove, comes = i < added;
      rows.push(goes ? left++ : -1, comes ? right++ : -1, goes && comes ? PAIRED : goes ? GONE : NEW);
    }
  }
  while (left < before) rows.push(left++, right++, SAME);
  return rows;
}

/** Edits from one text to another: common ends, then lines that each side has once (patience), then all of the rest. */
function compared(before, after) {
  const edits = [];
  let lead = 0;
  const emit = (keep, remove, insert) => {
    if (!remove && !insert.length) { lead += keep; return; }
    edits.push({ keep: keep + lead, remove, insert });
    lead = 0;
  };
  const pending = [[0, before.length, 0, after.length]];
  while (pending.length) {
    let [a, b, c, d] = pending.pop();
    if (a < 0) { lead += b; continue; }
    let start = 0;
    while (a < b && c < d && before[a] === after[c]) { a++; c++; start++; }
    lead += start;
    let end = 0;
    while (a < b && c < d && before[b - 1] === after[d - 1]) { b--; d--; end++; }
    const anchors = a < b && c < d ? unique(before, a, b, after, c, d) : [];
    if (!anchors.length) {
      emit(0, b - a, after.slice(c, d));
      lead += end;
      continue;
    }
    pending.push([-1, end, 0, 0]);
    let [nextB, nextD] = [b, d];
    for (let i = anchors.length - 1; i >= 0; i--) {
      const [x, y] = anchors[i];
      pending.push([x + 1, nextB, y + 1, nextD], [-1, 1, 0, 0]);
      [nextB, nextD] = [x, y];
    }
    pending.push([a, nextB, c, nextD]);
  }
  return edits;
}

/** The longest rising run of pairs of lines that both ranges have exactly once. */
function unique(before, a, b, after, c, d) {
  const seen = new Map();
  const note = (line, at, which) => {
    const entry = seen.get(line) || [0, 0, 0, 0];
    entry[which]++;
    entry[which + 2] = at;
    seen.set(line, entry);
  };
  for (let i = a; i < b; i++) note(before[i], i, 0);
  for (let i = c; i < d; i++) note(after[i], i, 1);
  const pairs = [...seen.values()].filter(e => e[0] === 1 && e[1] === 1).map(e => [e[2], e[3]]);
  pairs.sort((p, q) => p[0] - q[0]);
  const tails = [], previous = new Array(pairs.length).fill(-1);
  pairs.forEach((pair, i) => {
    let low = 0, high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tails[middle]][1] < pair[1]) low = middle + 1; else high = middle;
    }
    if (low) previous[i] = tails[low - 1];
    tails[low] = i;
  });
  const chosen = [];
  for (let i = tails.length ? tails[tails.length - 1] : -1; i >= 0; i = previous[i]) chosen.push(pairs[i]);
  return chosen.reverse();
}

/** The number of the function that each line belongs to; 0 before the first. */
function functionsOf(lines) {
  const numbers = new Int32Array(lines.length);
  let current = 0;
  lines.forEach((line, i) => {
    if (HEAD.test(line)) current++;
    numbers[i] = current;
  });
  return numbers;
}

const HEAD = /^(kernel|callable|external) /;
const PLACE = / !loc (\d+):(\d+)/;

/** Line of the source of a line of XIR, or 0. */
function sourceLine(trace, line) {
  const place = trace && trace.source && PLACE.exec(line);
  if (!place) return 0;
  const of = trace.source.lines[Number(place[1])];
  return (of && of[Number(place[2])]) || 0;
}
