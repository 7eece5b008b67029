//! Callable libraries of every known layout, their bytes put together here field by field as the format's page has them
//! (`callable-library.md`, sections 1 to 3), without the crate's writer, sets or tables.

use luisac_ast::binary::{self, CallableLibrary, Layout, Numbering, Suspend};
use luisac_ast::model::{CurveBases, ExprKind};
use luisac_ast::{check, pretty};

/// What sets a layout apart.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Form {
    /// Which column of the table of operations.
    numbering: Numbering,
    /// Operations there are.
    ops: usize,
    modern: bool,
    noinline: bool,
    /// The numbers of the statements AUTO_DIFF and PRINT.
    last: [u32; 2],
}

const A: Form =
    Form { numbering: Numbering::A, ops: 229, modern: false, noinline: false, last: [14, 15] };
const B: Form = Form { modern: true, ..A };
const MIDDLE: Form = Form { numbering: Numbering::B, ops: 363, ..B };
const C: Form = Form { numbering: Numbering::C, ops: 408, noinline: true, ..B };
const EARLY_C: Form = Form { noinline: false, ..C };
const ALL: [Form; 10] = [
    A,
    B,
    MIDDLE,
    Form { noinline: true, ..MIDDLE },
    EARLY_C,
    Form { last: [14, 16], ..EARLY_C },
    Form { last: [15, 16], ..EARLY_C },
    C,
    Form { last: [14, 16], ..C },
    Form { last: [15, 16], ..C },
];

/// Rows of the table of operations: number in A, B, C.
const MAX: [u32; 3] = [12, 12, 12];
const BUFFER_WRITE: [u32; 3] = [76, 78, 78];
const MAKE_FLOAT3: [u32; 3] = [125, 219, 219];
const CUSTOM: [u32; 3] = [0, 0, 0];

const HELPER: u64 = 0x1111_2222_3333_4444;
const NAMED: u64 = 0x5555_6666_7777_8888;

/// Literal alternatives.
const FLOAT: u64 = 1;
const INT: u64 = 2;
const BOOL: u64 = 0;

struct Bytes {
    form: Form,
    out: Vec<u8>,
    hashes: u64,
    /// On the builtin call of the helper.
    mask: u64,
}

impl Bytes {
    fn u8(&mut self, v: u8) {
        self.out.push(v);
    }
    fn u32(&mut self, v: u32) {
        self.out.extend(v.to_le_bytes());
    }
    fn u64(&mut self, v: u64) {
        self.out.extend(v.to_le_bytes());
    }
    fn text(&mut self, v: &str) {
        self.u64(v.len() as u64);
        self.out.extend(v.as_bytes());
    }
    fn number(&self, op: [u32; 3]) -> u32 {
        match self.form.numbering {
            Numbering::A => op[0],
            Numbering::B => op[1],
            Numbering::C => op[2],
        }
    }
    fn variable(&mut self, ty: &str, uid: u32, tag: u32) {
        self.text(ty);
        self.u32(uid);
        self.u32(tag);
    }
    fn variables(&mut self, list: &[(&str, u32, u32)]) {
        self.u64(list.len() as u64);
        for (ty, uid, tag) in list {
            self.variable(ty, *uid, *tag);
        }
    }
    fn op_set(&mut self, ops: &[[u32; 3]]) {
        let mut set = vec![0; self.form.ops.div_ceil(8)];
        for op in ops {
            let number = self.number(*op) as usize;
            set[number >> 3] |= 1 << (number & 7);
        }
        self.out.extend(set);
    }

    /// Hash and tag of a statement.
    fn stmt(&mut self, tag: u32) {
        self.hashes += 1;
        self.u64(self.hashes);
        self.u32(tag);
    }
    fn scope(&mut self, count: u64) {
        self.stmt(3);
        self.u64(count);
    }
    /// Type, hash and tag of an expression.
    fn expr(&mut self, ty: &str, tag: u32) {
        self.text(ty);
        self.hashes += 1;
        self.u64(self.hashes);
        self.u32(tag);
    }
    fn reference(&mut self, ty: &str, uid: u32, tag: u32) {
        self.expr(ty, 5);
        self.variable(ty, uid, tag);
    }
    fn literal(&mut self, ty: &str, alternative: u64, bytes: &[u8]) {
        self.expr(ty, 4);
        self.u64(alternative);
        self.u64(bytes.len() as u64);
        self.out.extend(bytes);
    }
    fn float(&mut self, v: f32) {
        self.literal("float", FLOAT, &v.to_le_bytes());
    }
    fn builtin(&mut self, op: [u32; 3], mask: u64) {
        let number = self.number(op);
        self.u32(number);
        self.u64(mask);
    }

    fn head(&mut self, ret: &str, bases: u64) {
        if self.form.modern {
            self.u64(bases);
        }
        self.text(ret);
        // Neither builtin variables nor constants.
        self.u64(0);
        self.u64(0);
    }
    /// From the usages to the block size.
    fn tail(&mut self, usages: &[u32], direct: &[[u32; 3]], all: &[[u32; 3]], printing: bool) {
        self.u64(4 * usages.len() as u64);
        for usage in usages {
            self.u32(*usage);
        }
        self.op_set(direct);
        self.op_set(all);
        self.u32(1);
        self.u8(0);
        if self.form.modern {
            self.u8(printing.into());
            if self.form.noinline {
                self.u8(1);
            }
            self.out.extend([0; 16]);
        }
    }

    /// `float helper(float x, float &y) { y = x; return max(x, 2); }`
    fn helper(&mut self) {
        self.head("float", 0);
        self.variables(&[("float", 0, 0), ("float", 1, 2)]);
        self.u64(0);
        self.variables(&[]);
        self.variables(&[]);
        self.tail(&[1, 2], &[MAX], &[MAX], false);
        self.scope(2);
        self.stmt(10);
        self.reference("float", 1, 2);
        self.reference("float", 0, 0);
        self.stmt(2);
        self.u8(1);
        self.expr("float", 7);
        self.u64(2);
        self.reference("float", 0, 0);
        self.float(2.0);
        self.builtin(MAX, self.mask);
    }

    /// A function with every statement and expression that all revisions have, but for ray queries.
    fn named(&mut self) {
        const BUFFER: &str = "buffer<float>";
        const VECTOR: &str = "vector<float,3>";
        let own = [MAKE_FLOAT3, BUFFER_WRITE, CUSTOM];
        let modern = self.form.modern;
        self.head("void", 0);
        self.variables(&[(BUFFER, 0, 3), ("uint", 1, 0)]);
        self.u64(1);
        self.u64(HELPER);
        self.variables(&[(VECTOR, 2, 0), ("float", 3, 0), ("int", 4, 0)]);
        self.variables(&[]);
        let all = [&own[..], &[MAX]].concat();
        self.tail(&[2, 1, 3, 3, 3], &own, &all, modern);
        self.scope(if modern { 9 } else { 8 });
        // v = float3(helper(1.5, y), 2, 3)
        self.stmt(10);
        self.reference(VECTOR, 2, 0);
        self.expr(VECTOR, 7);
        self.u64(3);
        self.expr("float", 7);
        self.u64(2);
        self.float(1.5);
        self.reference("float", 3, 0);
        let custom = self.number(CUSTOM);
        self.u32(custom);
        self.u64(1);
        self.u64(HELPER);
        self.float(2.0);
        self.float(3.0);
        self.builtin(MAKE_FLOAT3, 0);
        // if (true) {} else { v[0] = -y }
        self.stmt(4);
        self.literal("bool", BOOL, &[1]);
        self.scope(0);
        self.scope(1);
        self.stmt(10);
        self.expr("float", 3);
        self.reference(VECTOR, 2, 0);
        self.literal("int", INT, &0i32.to_le_bytes());
        self.expr("float", 0);
        self.reference("float", 3, 0);
        self.u32(1);
        // loop { break }
        self.stmt(5);
        self.scope(1);
        self.stmt(0);
        // for (n; n < 3; 1) { continue }
        self.stmt(11);
        self.reference("int", 4, 0);
        self.expr("bool", 1);
        self.reference("int", 4, 0);
        self.literal("int", INT, &3i32.to_le_bytes());
        self.u32(12);
        self.literal("int", INT, &1i32.to_le_bytes());
        self.scope(1);
        self.stmt(1);
        // switch (n) { case 7: {} default: {} }
        self.stmt(7);
        self.reference("int", 4, 0);
        self.scope(2);
        self.stmt(8);
        self.literal("int", INT, &7i32.to_le_bytes());
        self.scope(0);
        self.stmt(9);
        self.scope(0);
        self.stmt(12);
        self.text("a comment");
        // A differentiated scope.
        self.stmt(self.form.last[0]);
        self.scope(0);
        // buffer_write(b, i, (float)v.y)
        self.stmt(6);
        self.expr("void", 7);
        self.u64(3);
        self.reference(BUFFER, 0, 3);
        self.reference("uint", 1, 0);
        self.expr("float", 8);
        self.expr("float", 2);
        self.reference(VECTOR, 2, 0);
        self.u32(1);
        self.u32(1);
        self.u32(0);
        self.builtin(BUFFER_WRITE, 0);
        if modern {
            self.stmt(self.form.last[1]);
            self.text("y is {}");
            self.u64(1);
            self.reference("float", 3, 0);
        }
    }
}

/// A library of a named function and its helper.
fn library(form: Form, mask: u64) -> Vec<u8> {
    let mut bytes = Bytes { form, out: Vec::new(), hashes: 0, mask };
    bytes.u64(1);
    bytes.u64(1);
    bytes.u64(NAMED);
    bytes.u64(HELPER);
    bytes.u64(NAMED);
    bytes.text("caller");
    bytes.named();
    bytes.u64(HELPER);
    bytes.helper();
    bytes.out
}

fn read(form: Form) -> CallableLibrary {
    binary::read(&library(form, 0)).unwrap_or_else(|e| panic!("{form:?}: {e}"))
}

#[test]
fn every_layout_is_told_apart_and_read() {
    let text = |file: &CallableLibrary| pretty::print(&file.library);
    let expected = text(&read(B));
    for word in ["caller(", "max(", "buffer_write", "\"y is {}\"", "a comment", "break", "continue"]
    {
        assert!(expected.to_lowercase().contains(word), "{word} is not in\n{expected}");
    }
    for form in ALL {
        let file = read(form);
        let Layout { numbering, modern, noinline, suspend } = file.layout;
        assert_eq!(
            (numbering, modern, noinline),
            (form.numbering, form.modern, form.noinline),
            "{form:?}"
        );
        let last = match suspend {
            Suspend::None => [14, 15],
            Suspend::BeforePrint => [14, 16],
            Suspend::BeforeAutoDiff => [15, 16],
        };
        assert_eq!(last, form.last, "{form:?}");
        let found = check::check(&file.library);
        assert!(!found.has_errors(), "{form:?}: {found}");
        assert_eq!((file.named.len(), file.inline.len()), (1, 1));
        let record = &file.records[file.named[0]];
        assert_eq!((record.hash, record.noinline), (NAMED, form.noinline));
        // The oldest has no statement that prints.
        let without_print: Vec<&str> =
            expected.lines().filter(|l| form.modern || !l.contains("y is {}")).collect();
        let found = text(&file);
        assert_eq!(found.lines().collect::<Vec<_>>(), without_print, "{form:?}");
        // What the page says, the crate's own computation says too.
        let marked = luisac_ast::usage::marked(&file.library);
        for (id, function) in &file.library.functions {
            for (variable, data) in &function.variables {
                assert_eq!(data.usage, marked[id][variable], "{form:?}: {variable} of {id}");
            }
        }
    }
}

#[test]
fn what_is_written_again_is_the_same_bytes() {
    for form in ALL {
        let bytes = library(form, 0);
        let written = binary::write(&read(form)).unwrap_or_else(|e| panic!("{form:?}: {e}"));
        assert!(written == bytes, "{form:?}");
    }
}

/// Only the newest files say with a call which curves it meets.
#[test]
fn curves_of_a_call_prove_the_newest_layout() {
    for form in [C, EARLY_C] {
        let file = binary::read(&library(form, 2)).unwrap_or_else(|e| panic!("{form:?}: {e}"));
        let calls = file.library.functions.values().flat_map(|f| f.exprs.values());
        let found = calls.filter_map(|e| match e.kind {
            ExprKind::Call { curve_bases, .. } => Some(curve_bases),
            _ => None,
        });
        assert!(found.into_iter().any(|bases| bases == CurveBases(2)), "{form:?}");
        assert!(binary::read(&library(form, 16)).is_err(), "there are four kinds of curves");
    }
    for form in [A, B] {
        assert!(binary::read(&library(form, 2)).is_err(), "{form:?}");
    }
}

/// Cut anywhere, or with a byte too many, every layout is refused with the place.
#[test]
fn damaged_files_of_every_layout_are_refused() {
    for form in ALL {
        let bytes = library(form, 0);
        for len in (0..bytes.len()).step_by(3) {
            let errors = binary::read(&bytes[..len]).expect_err("it is cut");
            assert!(errors.0.iter().all(|e| e.offset.is_some_and(|at| at <= len)), "{form:?}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(binary::read(&longer).is_err(), "{form:?}");
    }
}

/// Kernels came with the second revision.
#[test]
fn the_oldest_files_hold_callables_only() {
    for form in [A, B] {
        let mut bytes = library(form, 0);
        let helper = bytes.windows(8).rposition(|w| w == HELPER.to_le_bytes()).expect("its record");
        // The tag behind the sets of operations of the named function.
        let sets = 2 * form.ops.div_ceil(8);
        let tag = (0..helper)
            .find(|&at| {
                let usages: Vec<u8> =
                    [2u32, 1, 3, 3, 3].iter().flat_map(|u| u.to_le_bytes()).collect();
                bytes[..at].ends_with(&usages)
            })
            .map(|usages| usages + sets)
            .expect("the usages");
        assert_eq!(bytes[tag], 1);
        bytes[tag] = 0;
        assert_eq!(binary::read(&bytes).is_ok(), form == B, "{form:?}");
    }
}
