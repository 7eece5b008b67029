//! Kernels that compute operations on given operands, in three forms, and their recorded cases.

use crate::kind::{ALL, Kind};
use serde_json::{Value, json};

/// What computes an operation: an expression, made of its operands' expressions.
type Build = Box<dyn Fn(&[Value]) -> Value + Sync>;
/// The bits that must come out for the bits of the operands; none where anything may.
type Want = Box<dyn Fn(&[u64]) -> Option<u64> + Sync>;

/// One operation.
pub struct Row {
    pub name: String,
    pub result: Kind,
    pub build: Build,
    pub want: Want,
}

/// Operations on operands of the same types.
pub struct Table {
    pub operands: Vec<Kind>,
    /// The bits of the operands, one list an evaluation.
    pub tuples: Vec<Vec<u64>>,
    pub rows: Vec<Row>,
}

impl Table {
    pub fn new(operands: &[Kind], tuples: Vec<Vec<u64>>) -> Table {
        assert!(!tuples.is_empty(), "a table without operands");
        Table { operands: operands.to_vec(), tuples, rows: Vec::new() }
    }

    /// Adds an operation.
    pub fn row(
        mut self,
        name: impl Into<String>,
        result: Kind,
        build: impl Fn(&[Value]) -> Value + Sync + 'static,
        want: impl Fn(&[u64]) -> Option<u64> + Sync + 'static,
    ) -> Table {
        let (build, want) = (Box::new(build), Box::new(want));
        self.rows.push(Row { name: name.into(), result, build, want });
        self
    }

    fn rows_of(&self, result: Kind) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().filter(move |(_, r)| r.result == result)
    }

    /// The operands that a row has statements of its own for, with their positions: all of a small table, another part of a
    /// large one for each row.
    fn part(&self, row: usize) -> impl Iterator<Item = (usize, &Vec<u64>)> {
        const MOST: usize = 90;
        let parts = self.tuples.len().div_ceil(MOST);
        self.tuples.iter().enumerate().skip(row % parts).step_by(parts)
    }

    fn results(&self) -> Vec<Kind> {
        ALL.into_iter().filter(|&k| self.rows.iter().any(|r| r.result == k)).collect()
    }
}

/// All lists of `arity` operands out of `edges`.
pub fn all_of(edges: &[u64], arity: usize) -> Vec<Vec<u64>> {
    (0..arity).fold(vec![Vec::new()], |lists, _| {
        let with = |list: &Vec<u64>| {
            let list = list.clone();
            edges.iter().map(move |&e| [list.as_slice(), &[e]].concat())
        };
        lists.iter().flat_map(with).collect()
    })
}

/// Where the operands of an evaluation come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All from buffers.
    RunTime,
    /// All literals.
    Folded,
    /// Some of each.
    Mixed,
}

impl Form {
    pub const ALL: [Form; 3] = [Form::RunTime, Form::Folded, Form::Mixed];

    pub fn name(self) -> &'static str {
        ["run_time", "folded", "mixed"][self as usize]
    }
}

const UINT3: usize = ALL.len();
const VOID: usize = UINT3 + 1;
/// A buffer's type is that of its element, this much further.
const BUFFERS: usize = VOID + 1;
const VECTORS: usize = BUFFERS + ALL.len();

/// The position of the type of vectors of `n` components.
pub fn vector(kind: Kind, n: usize) -> usize {
    VECTORS + 3 * kind.index() + n - 2
}

fn types() -> Value {
    let scalars = ALL.iter().map(|k| json!({"tag": k.tag()}));
    let others =
        [json!({"tag": "VECTOR", "element": Kind::U32.index(), "dimension": 3}), Value::Null];
    let buffers = (0..ALL.len()).map(|i| json!({"tag": "BUFFER", "element": i}));
    let vectors = (0..ALL.len())
        .flat_map(|i| (2..=4).map(move |n| json!({"tag": "VECTOR", "element": i, "dimension": n})));
    scalars.chain(others).chain(buffers).chain(vectors).collect()
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0, |w, (i, &b)| w | u32::from(b) << (16 - 8 * i));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize].into();
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

pub fn literal(kind: Kind, bits: u64) -> Value {
    let bytes = bits.to_le_bytes();
    json!({"tag": "LITERAL", "type": kind.index(), "value": base64(&bytes[..kind.width() as usize / 8])})
}

pub fn call(op: &str, ty: usize, arguments: &[Value]) -> Value {
    json!({"tag": "CALL", "type": ty, "op": op, "arguments": arguments})
}

pub fn unary(op: &str, kind: Kind, operand: &Value) -> Value {
    json!({"tag": "UNARY", "type": kind.index(), "op": op, "operand": operand})
}

pub fn binary(op: &str, kind: Kind, lhs: &Value, rhs: &Value) -> Value {
    json!({"tag": "BINARY", "type": kind.index(), "op": op, "lhs": lhs, "rhs": rhs})
}

pub fn cast(op: &str, kind: Kind, of: &Value) -> Value {
    json!({"tag": "CAST", "type": kind.index(), "op": op, "expression": of})
}

fn read(buffer: usize, kind: Kind, at: Value) -> Value {
    let buffer = reference(buffer, BUFFERS + kind.index());
    call("BUFFER_READ", kind.index(), &[buffer, at])
}

fn reference(variable: usize, ty: usize) -> Value {
    json!({"tag": "REF", "type": ty, "variable": variable})
}

/// A buffer of a kernel, and what is in it.
struct Buffer {
    name: String,
    kind: Kind,
    data: Vec<u64>,
    /// What must be in it at the end, if the kernel writes it.
    expect: Option<Vec<Option<u64>>>,
}

/// A number of a kernel's results, for messages.
struct Label {
    /// The buffer that it goes to.
    buffer: usize,
    text: String,
}

/// A kernel with its case.
pub struct Written {
    pub kernel: Value,
    pub case: Value,
    labels: Vec<Label>,
}

impl Written {
    /// What the number at a place of an argument is.
    pub fn label(&self, argument: usize, position: usize) -> &str {
        let mut of = self.labels.iter().filter(|l| l.buffer == argument);
        of.nth(position).map_or("no result", |l| &l.text)
    }
}

/// The kernel of a form.
pub fn write(tables: &[Table], form: Form, flags: &[&str]) -> Written {
    let dispatch_id = tables.iter().map(|t| t.operands.len() + t.results().len()).sum();
    let (buffers, statements, labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut writer = Writer { form, dispatch_id, buffers, statements, labels };
    tables.iter().for_each(|t| writer.table(t));
    let threads = match form {
        Form::RunTime => tables.iter().map(|t| t.tuples.len()).max().unwrap_or(1),
        Form::Folded | Form::Mixed => 1,
    };
    writer.finish(threads, flags)
}

struct Writer {
    form: Form,
    /// The variable after the buffers.
    dispatch_id: usize,
    buffers: Vec<Buffer>,
    statements: Vec<Value>,
    labels: Vec<Label>,
}

impl Writer {
    fn table(&mut self, table: &Table) {
        let first = self.buffers.len();
        for (i, &kind) in table.operands.iter().enumerate() {
            let data = table.tuples.iter().map(|t| t[i]).collect();
            let name = format!("operand{}", self.buffers.len());
            self.buffers.push(Buffer { name, kind, data, expect: None });
        }
        let before = std::mem::take(&mut self.statements);
        for kind in table.results() {
            let output = self.buffers.len();
            let name = format!("result{output}");
            self.buffers.push(Buffer { name, kind, data: Vec::new(), expect: Some(Vec::new()) });
            for (position, row) in table.rows_of(kind) {
                match self.form {
                    Form::RunTime => self.threads(table, row, first, output),
                    Form::Folded => self.folded(table, position, output),
                    Form::Mixed => self.mixed(table, position, first, output),
                }
            }
        }
        let new = std::mem::replace(&mut self.statements, before);
        match self.form {
            Form::RunTime => self.statements.push(self.guard(table, new)),
            Form::Folded | Form::Mixed => self.statements.extend(new),
        }
    }

    /// One evaluation a thread.
    fn threads(&mut self, table: &Table, row: &Row, first: usize, output: usize) {
        let index = self.thread();
        let operands: Vec<Value> = table
            .operands
            .iter()
            .enumerate()
            .map(|(i, &k)| read(first + i, k, index.clone()))
            .collect();
        let start = self.buffers[output].data.len() as u64;
        let at = binary("ADD", Kind::U32, &index, &literal(Kind::U32, start));
        self.store(output, row.result, at, (row.build)(&operands));
        table.tuples.iter().for_each(|t| self.expect(output, row, t));
    }

    fn thread(&self) -> Value {
        json!({"tag": "MEMBER", "type": Kind::U32.index(), "swizzle": "x", "self": reference(self.dispatch_id, UINT3)})
    }

    /// Lets only the threads run the statements that have operands in the table.
    fn guard(&self, table: &Table, statements: Vec<Value>) -> Value {
        let count = literal(Kind::U32, table.tuples.len() as u64);
        json!({
            "tag": "IF", "condition": binary("LESS", Kind::Bool, &self.thread(), &count),
            "true_branch": {"tag": "SCOPE", "statements": statements},
            "false_branch": {"tag": "SCOPE", "statements": []},
        })
    }

    /// One evaluation a statement, of literals.
    fn folded(&mut self, table: &Table, position: usize, output: usize) {
        for (_, tuple) in table.part(position) {
            let operands: Vec<Value> =
                table.operands.iter().zip(tuple).map(|(&k, &bits)| literal(k, bits)).collect();
            self.evaluation(&table.rows[position], output, tuple, &operands);
        }
    }

    /// Evaluations with one operand a literal and the others from buffers, or the other way about.
    fn mixed(&mut self, table: &Table, position: usize, first: usize, output: usize) {
        let arity = table.operands.len();
        let masks: Vec<usize> = (1..(1 << arity) - 1).collect();
        for (t, tuple) in table.part(position) {
            // Both masks of two operands; of more, all masks in turn.
            for turn in 0..masks.len().min(2) {
                let mask = masks[(t + turn) % masks.len()];
                let operands: Vec<Value> = (0..arity)
                    .map(|i| match mask >> i & 1 {
                        0 => literal(table.operands[i], tuple[i]),
                        _ => read(first + i, table.operands[i], literal(Kind::U32, t as u64)),
                    })
                    .collect();
                self.evaluation(&table.rows[position], output, tuple, &operands);
            }
        }
    }

    fn evaluation(&mut self, row: &Row, output: usize, tuple: &[u64], operands: &[Value]) {
        let at = literal(Kind::U32, self.buffers[output].data.len() as u64);
        self.store(output, row.result, at, (row.build)(operands));
        self.expect(output, row, tuple);
    }

    fn store(&mut self, output: usize, kind: Kind, at: Value, value: Value) {
        let buffer = reference(output, BUFFERS + kind.index());
        let write = call("BUFFER_WRITE", VOID, &[buffer, at, value]);
        self.statements.push(json!({"tag": "EXPR", "expression": write}));
    }

    fn expect(&mut self, output: usize, row: &Row, tuple: &[u64]) {
        let buffer = &mut self.buffers[output];
        // What was there before is neither of the likely results.
        buffer.data.push(0x5a5a_5a5a_5a5a_5a5a & row.result.mask());
        if let Some(expect) = &mut buffer.expect {
            expect.push((row.want)(tuple));
        }
        let operands: Vec<String> = tuple.iter().map(|b| format!("{b:#x}")).collect();
        let text = format!("{}({})", row.name, operands.join(", "));
        self.labels.push(Label { buffer: output, text });
    }

    fn finish(self, threads: usize, flags: &[&str]) -> Written {
        let Writer { mut buffers, statements, labels, form, .. } = self;
        let mut variables: Vec<Value> = buffers
            .iter()
            .map(|b| json!({"tag": "BUFFER", "type": BUFFERS + b.kind.index()}))
            .collect();
        if form == Form::RunTime {
            variables.push(json!({"tag": "DISPATCH_ID", "type": UINT3}));
        }
        let arguments: Vec<usize> = (0..buffers.len()).collect();
        let body = json!({"tag": "SCOPE", "statements": statements});
        let function = json!({
            "tag": "KERNEL", "variables": variables, "arguments": arguments, "bound_arguments": [], "curve_bases": [],
            "block_size": [64, 1, 1], "body": body, "constants": [],
        });
        let kernel = json!({"types": types(), "functions": [function], "entry": 0});
        let hex = |b: &u64| json!(format!("{b:#x}"));
        let mut expect = serde_json::Map::new();
        for (i, buffer) in buffers.iter_mut().enumerate() {
            if let Some(wanted) = buffer.expect.take() {
                let data: Vec<Value> =
                    wanted.iter().map(|w| w.as_ref().map_or(Value::Null, hex)).collect();
                expect.insert(i.to_string(), json!({"data": data}));
            }
        }
        let args: Vec<Value> = buffers
            .iter()
            .map(|b| {
                let data: Vec<Value> = b.data.iter().map(hex).collect();
                json!({"kind": "buffer", "name": b.name, "type": b.kind.case_name(), "element": b.kind.case_name(), "data": data})
            })
            .collect();
        let case =
            json!({"dispatch": [threads, 1, 1], "args": args, "expect": expect, "flags": flags});
        Written { kernel, case, labels }
    }
}
