// The code before and after a pass, side by side.

const NEAR = 3;

class Code {
  constructor() {
    this.leftPane = document.getElementById("left");
    this.rightPane = document.getElementById("right");
    this.left = new List(this.leftPane, (row, i) => this.draw(row, i, 0));
    this.right = new List(this.rightPane, (row, i) => this.draw(row, i, 1));
    this.left.after = this.right.after = relight;
    tie(this.leftPane, this.rightPane);
    this.overview = document.getElementById("overview");
    this.texts = [[], []];
    this.functions = [[], []];
    this.rows = new Rows(0);
    this.shown = [];
    this.at = -1;
    watchValues(this.leftPane);
    watchValues(this.rightPane);
    const pair = this.leftPane.parentElement;
    pair.addEventListener("click", event => {
      const row = event.target.closest(".folded");
      if (row) this.unfold(Number(row.dataset.from), Number(row.dataset.to));
    });
    this.overview.addEventListener("click", event => {
      const part = event.offsetY / this.overview.clientHeight;
      this.left.reveal(Math.floor(part * this.shown.length));
    });
    new ResizeObserver(() => this.drawOverview()).observe(this.overview.parentElement);
  }

  show(before, after, edits) {
    this.texts = [before, after];
    this.functions = [functionsOf(before), functionsOf(after)];
    this.rows = rowsOf(before.length, edits);
    this.opened = [];
    this.at = -1;
    this.leftPane.scrollTop = this.rightPane.scrollTop = 0;
    this.arrange();
  }

  /** Decides what is folded. `shown` has row numbers; a fold is a pair of them. */
  arrange() {
    const { rows } = this, fold = document.getElementById("fold").checked;
    const keep = new Uint8Array(rows.length);
    // Where nothing changed there is nothing to fold around.
    if (fold && rows.hunks.length) {
      for (let i = 0; i < rows.length; i++) {
        if (rows.kind[i] !== SAME) keep.fill(1, Math.max(0, i - NEAR), Math.min(rows.length, i + NEAR + 1));
      }
      for (const [from, to] of this.opened) keep.fill(1, from, to);
    } else keep.fill(1);
    this.shown = [];
    for (let i = 0; i < rows.length;) {
      if (keep[i]) { this.shown.push(i++); continue; }
      const from = i;
      while (i < rows.length && !keep[i]) i++;
      this.shown.push([from, i]);
    }
    this.left.show(this.shown.length);
    this.right.show(this.shown.length);
    const changes = rows.hunks.length;
    document.getElementById("where").textContent = changes === 0 ? "nothing changed" : changes === 1 ? "1 change" : changes + " changes";
    this.drawOverview();
  }

  unfold(from, to) {
    this.opened.push([from, to]);
    this.arrange();
  }

  draw(element, index, side) {
    const entry = this.shown[index];
    if (Array.isArray(entry)) {
      element.classList.add("folded");
      [element.dataset.from, element.dataset.to] = entry;
      const count = entry[1] - entry[0];
      element.textContent = "      ⋯ " + count + (count === 1 ? " line that stays" : " lines that stay");
      return;
    }
    const line = (side ? this.rows.right : this.rows.left)[entry];
    if (line < 0) { element.classList.add("none"); return; }
    if (this.rows.kind[entry] !== SAME) element.classList.add(side ? "new" : "gone");
    if (this.at >= 0 && entry === this.rows.hunks[this.at]) element.classList.add("at");
    number(element, line + 1);
    paint(element, this.texts[side][line], this.functions[side][line]);
  }

  /** Goes to the next (1) or previous (-1) change. */
  step(by) {
    const { hunks } = this.rows;
    if (!hunks.length) return;
    this.at = this.at < 0 ? (by > 0 ? 0 : hunks.length - 1) : (this.at + by + hunks.length) % hunks.length;
    this.revealRow(hunks[this.at]);
    document.getElementById("where").textContent = `change ${this.at + 1} of ${hunks.length}`;
    this.left.redraw();
    this.right.redraw();
  }

  /** Opens the folds next to the current change, or all where none is chosen. */
  open() {
    const near = this.at < 0 ? -1 : this.rows.hunks[this.at];
    const folds = this.shown.filter(e => Array.isArray(e) && (near < 0 || Math.abs(e[1] - near) <= NEAR + 1));
    const after = near < 0 ? [] : this.shown.filter(e => Array.isArray(e) && e[0] > near).slice(0, 1);
    for (const fold of new Set([...folds, ...after])) this.opened.push(fold);
    this.arrange();
    if (near >= 0) this.revealRow(near);
  }

  /** Keeps the next value of the current change lit. */
  nextValue() {
    const rows = [...this.leftPane.querySelectorAll(".row.at"), ...this.rightPane.querySelectorAll(".row.at")];
    const from = rows.length ? rows : [...this.rightPane.querySelectorAll(".row")].slice(0, 1);
    const keys = [...new Set(from.flatMap(row => [...row.querySelectorAll(".v")].map(value => value.dataset.key)))];
    if (!keys.length) return;
    lit.pin = keys[(keys.indexOf(lit.pin) + 1) % keys.length];
    relight();
  }

  revealRow(row) {
    const index = this.shown.findIndex(e => Array.isArray(e) ? row >= e[0] && row < e[1] : e === row);
    if (index < 0) return;
    if (Array.isArray(this.shown[index])) {
      this.unfold(...this.shown[index]);
      this.revealRow(row);
      return;
    }
    this.left.reveal(index);
    this.right.reveal(index);
  }

  revealLine(side, line) {
    const of = side ? this.rows.right : this.rows.left;
    const row = of.indexOf(line);
    if (row >= 0) this.revealRow(row);
  }

  drawOverview() {
    const canvas = this.overview, height = canvas.parentElement.clientHeight;
    if (!height) return;
    canvas.height = height;
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const total = Math.max(1, this.shown.length);
    this.shown.forEach((entry, i) => {
      if (Array.isArray(entry) || this.rows.kind[entry] === SAME) return;
      pen.fillStyle = style.getPropertyValue(this.rows.kind[entry] === GONE ? "--gone-mark" : "--new-mark");
      pen.fillRect(2, i * height / total, 10, Math.max(2, height / total));
    });
  }
}
