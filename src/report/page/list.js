// A list of rows of one height, of which only those in sight exist.

const ROW = 18;

/** Shows `count` rows in a pane; `draw(element, index)` fills one. */
class List {
  constructor(pane, draw) {
    this.pane = pane;
    this.draw = draw;
    this.count = 0;
    this.fill = document.createElement("div");
    this.fill.className = "fill";
    pane.append(this.fill);
    this.rows = new Map();
    this.waiting = false;
    pane.addEventListener("scroll", () => this.later());
    new ResizeObserver(() => this.later()).observe(pane);
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.update(); });
  }

  show(count) {
    this.count = count;
    this.fill.style.height = count * ROW + "px";
    this.redraw();
  }

  redraw() {
    this.fill.replaceChildren();
    this.rows.clear();
    this.update();
  }

  update() {
    const first = Math.max(0, Math.floor(this.pane.scrollTop / ROW) - 10);
    const last = Math.min(this.count, Math.ceil((this.pane.scrollTop + this.pane.clientHeight) / ROW) + 10);
    for (const [i, row] of this.rows) {
      if (i < first || i >= last) { row.remove(); this.rows.delete(i); }
    }
    for (let i = first; i < last; i++) {
      if (this.rows.has(i)) continue;
      const row = document.createElement("div");
      row.className = "row";
      row.style.top = i * ROW + "px";
      this.draw(row, i);
      this.fill.append(row);
      this.rows.set(i, row);
    }
    if (this.after) this.after();
  }

  /** Scrolls so that a row is in sight, a third from the top if it was not. */
  reveal(index) {
    const top = index * ROW, pane = this.pane;
    if (top < pane.scrollTop || top + ROW > pane.scrollTop + pane.clientHeight) {
      pane.scrollTop = Math.max(0, top - pane.clientHeight / 3);
    }
    this.later();
  }
}

/** Two panes that scroll down together. */
function tie(a, b) {
  let leader = null;
  const follow = (from, to) => from.addEventListener("scroll", () => {
    if (leader && leader !== from) return;
    leader = from;
    to.scrollTop = from.scrollTop;
    requestAnimationFrame(() => { leader = null; });
  });
  follow(a, b);
  follow(b, a);
}

const TOKEN = /(%\d+|\bb\d+\b|@"(?:[^"\\]|\\.)*"|@[\w.$]+)|("(?:[^"\\]|\\.)*")|\b((?:[iu](?:8|16|32|64)|f(?:16|32|64)|bool|void|vector|matrix|array|struct|buffer|texture|bindless_array|accel|T\d+)\b)|(?<= )(-?(?:0x[0-9a-fA-F]+|\d[\d.]*(?:e[-+]?\d+)?)\b)/g;
const WORD = /^(\s+(?:%\d+: .*? = )?)([a-z_0-9]+(?: [a-z_0-9]+)?)/;

/** The line with its parts as elements; values, blocks and symbols can be lit. */
function paint(element, line, scope) {
  const text = line.replace(PLACE, "");
  const word = WORD.exec(text);
  const operation = word ? [word[1].length, word[0].length] : [0, 0];
  let at = 0;
  const plain = end => {
    while (at < end) {
      const inside = at >= operation[0] && at < operation[1];
      const stop = Math.min(end, inside ? operation[1] : at < operation[0] ? operation[0] : end);
      if (inside) piece(element, "o", text.slice(at, stop));
      else element.append(text.slice(at, stop));
      at = stop;
    }
  };
  for (const match of text.matchAll(TOKEN)) {
    if (match.index < at || (match.index > operation[0] && match.index < operation[1])) continue;
    plain(match.index);
    const kind = match[1] ? "v" : match[2] ? "s" : match[3] ? "t" : "c";
    const span = piece(element, kind, match[0]);
    if (match[1]) span.dataset.key = match[0][0] === "@" ? match[0] : scope + " " + match[0];
    at = match.index + match[0].length;
  }
  plain(text.length);
}

function piece(element, kind, text) {
  const span = document.createElement("span");
  span.className = kind;
  span.textContent = text;
  element.append(span);
  return span;
}

function number(element, n) {
  piece(element, "no", n);
}

// Values that are lit: the one under the pointer, and the one that was clicked.
const lit = { hot: "", pin: "" };

function relight() {
  for (const span of document.querySelectorAll(".v")) {
    const key = span.dataset.key;
    span.classList.toggle("hot", key === lit.hot);
    span.classList.toggle("pin", key === lit.pin);
  }
}

function watchValues(pane) {
  const key = event => (event.target.dataset && event.target.dataset.key) || "";
  pane.addEventListener("mouseover", event => {
    if (key(event) === lit.hot) return;
    lit.hot = key(event);
    relight();
  });
  pane.addEventListener("mouseleave", () => { lit.hot = ""; relight(); });
  pane.addEventListener("click", event => {
    if (!key(event)) return;
    lit.pin = lit.pin === key(event) ? "" : key(event);
    relight();
  });
}
