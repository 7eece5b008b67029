// The code after the last pass, the kernel it came from, and what the target wrote, tied together by the kernel's lines.

class EmittedView {
  constructor(side) {
    this.side = side;
    const pane = id => document.getElementById(id);
    this.lists = {
      final: new List(pane("final"), (row, i) => this.draw(row, i, "final")),
      source: new List(pane("source"), (row, i) => this.draw(row, i, "source")),
      text: new List(pane("text"), (row, i) => this.draw(row, i, "text")),
    };
    this.select = document.getElementById("output");
    this.select.addEventListener("change", () => this.choose());
    for (const id of ["final", "source", "text"]) {
      pane(id).addEventListener("click", event => {
        const row = event.target.closest(".row");
        if (row) this.light(id, Number(row.dataset.index));
      });
    }
    watchValues(pane("final"));
    this.line = 0;
    this.ready = false;
  }

  /** Filled when it is first looked at. */
  open() {
    if (this.ready) return;
    this.ready = true;
    const { trace, runs } = this.side;
    const final = this.side.lines(runs.length);
    this.texts = {
      final, source: trace && trace.source ? trace.source.text.split("\n") : ["(the input has no text of its own)"], text: [],
    };
    this.scopes = functionsOf(final);
    this.places = { final: final.map(line => sourceLine(trace, line)), source: this.texts.source.map((_, i) => i + 1), text: [] };
    for (const output of (trace && trace.emitted) || []) {
      const option = document.createElement("option");
      option.textContent = output.name;
      this.select.append(option);
    }
    this.lists.final.show(final.length);
    this.lists.source.show(this.texts.source.length);
    this.choose();
  }

  choose() {
    const trace = this.side.trace;
    const output = trace && trace.emitted && trace.emitted[Math.max(0, this.select.selectedIndex)];
    this.texts.text = output ? output.text.split("\n") : ["(nothing was emitted)"];
    this.places.text = output ? output.source_lines : [];
    this.lists.text.show(this.texts.text.length);
  }

  draw(row, index, id) {
    row.dataset.index = index;
    const place = this.places[id][index];
    row.classList.toggle("lit", this.line > 0 && place === this.line);
    number(row, index + 1);
    const line = this.texts[id][index];
    if (id === "final") paint(row, line, this.scopes[index]);
    else row.append(line);
  }

  /** Goes to the next (1) or previous (-1) line of the kernel that something came from; after the last comes the first. */
  step(by) {
    const { source, text, final } = this.places, all = new Set([...text, ...final]);
    const used = source.filter(line => all.has(line));
    if (!used.length) return;
    const next = by > 0 ? used.find(line => line > this.line) || used[0] : used.findLast(line => line < this.line) || used[used.length - 1];
    this.lists.source.reveal(next - 1);
    this.light("source", next - 1);
  }

  light(id, index) {
    this.line = this.places[id][index] || 0;
    for (const [other, list] of Object.entries(this.lists)) {
      if (other !== id && this.line) {
        const first = this.places[other].indexOf(this.line);
        if (first >= 0) list.reveal(first);
      }
      list.redraw();
    }
  }
}
