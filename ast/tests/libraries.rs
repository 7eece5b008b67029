//! Serialized callable libraries: equal to their JSON, written again as they were, refused when damaged.

mod support;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

use luisac_ast::binary::{self, CallableLibrary};
use luisac_ast::check;
use luisac_ast::json;
use luisac_ast::model::{
    Callee, ExprId, ExprKind, Function, FunctionId, Library, Stmt, StmtId, VariableId, VariableTag,
};

/// A function as text, in which only what matters has a name: variables by order of mention, arguments first, types by
/// description, constants by value, callees by their own text.
struct Dump<'a> {
    library: &'a Library,
    function: &'a Function,
    variables: HashMap<VariableId, usize>,
    text: String,
}

fn dump(library: &Library, id: FunctionId) -> String {
    let function = &library.functions[id];
    let mut dump = Dump { library, function, variables: HashMap::new(), text: String::new() };
    for argument in &function.arguments {
        dump.variable(*argument);
    }
    let _ = writeln!(
        dump.text,
        "{:?} -> {}",
        function.tag,
        library.types.description(function.return_type)
    );
    dump.stmt(function.body.expand().expect("there is a body"));
    dump.text
}

impl Dump<'_> {
    fn variable(&mut self, id: VariableId) {
        let next = self.variables.len();
        let index = *self.variables.entry(id).or_insert(next);
        let variable = &self.function.variables[id];
        let by_value = self.function.is_value_argument(id);
        let tag = if by_value { VariableTag::Argument } else { variable.tag };
        let _ = write!(
            self.text,
            "v{index}:{}:{}",
            tag.name(),
            self.library.types.description(variable.ty)
        );
    }

    fn expr(&mut self, id: ExprId) {
        let expr = self.function.exprs[id];
        let _ = write!(self.text, "({} ", self.library.types.description(expr.ty));
        match expr.kind {
            ExprKind::Ref(variable) => self.variable(variable),
            ExprKind::Constant(constant) => {
                let _ = write!(self.text, "{:?}", self.library.constants[constant].bytes);
            }
            ExprKind::Literal { bytes } => {
                let _ = write!(self.text, "{:?}", self.function.bytes_in(bytes));
            }
            ExprKind::TypeId(ty) => self.text.push_str(&self.library.types.description(ty)),
            ExprKind::Swizzle { swizzle, .. } => {
                let _ = write!(self.text, ".{swizzle}");
            }
            ExprKind::Member { index, .. } => {
                let _ = write!(self.text, ".{index}");
            }
            ExprKind::Unary { op, .. } => self.text.push_str(op.name()),
            ExprKind::Binary { op, .. } => self.text.push_str(op.name()),
            ExprKind::Cast { op, .. } => self.text.push_str(op.name()),
            ExprKind::Access { .. } => self.text.push_str("[]"),
            ExprKind::Call { op, callee, .. } => {
                self.text.push_str(op.name());
                if let Callee::Function(callee) = callee {
                    let _ = write!(self.text, "{{{}}}", dump(self.library, callee));
                }
            }
            other => panic!("not in a library: {other:?}"),
        }
        let mut operands = Vec::new();
        luisac_ast::place::expr_children(self.function, &expr.kind, |_, _, operand| {
            operands.push(operand)
        });
        operands.into_iter().for_each(|operand| self.expr(operand));
        self.text.push(')');
    }

    fn stmt(&mut self, id: StmtId) {
        let stmt = self.function.stmts[id];
        let name = format!("{stmt:?}");
        self.text.push_str(name.split([' ', '(', '{']).next().unwrap_or_default());
        match stmt {
            Stmt::Comment(text) | Stmt::Print { format: text, .. } => {
                let _ = write!(self.text, "{:?}", self.function.text_in(text));
            }
            Stmt::SwitchCase { value, body } => {
                let _ = write!(self.text, " {:?} ", self.function.case_value(value));
                return self.stmt(body);
            }
            _ => {}
        }
        self.text.push('\n');
        let mut parts = Vec::new();
        luisac_ast::place::stmt_children(self.function, &stmt, |_, _, part| parts.push(part));
        for part in parts {
            match part {
                luisac_ast::place::Node::Expr(expr) => self.expr(expr),
                luisac_ast::place::Node::Stmt(stmt) => self.stmt(stmt),
                _ => {}
            }
        }
        self.text.push_str("end\n");
    }
}

fn files() -> Vec<PathBuf> {
    let Some(corpus) = support::corpus() else { return Vec::new() };
    let entries =
        std::fs::read_dir(corpus.join("callable-libraries")).expect("the corpus can be read");
    let mut files: Vec<_> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "bin"))
        .collect();
    files.sort();
    files
}

fn readable() -> Vec<(PathBuf, Vec<u8>, CallableLibrary)> {
    let mut found = Vec::new();
    for path in files() {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        if path.file_stem().is_some_and(|s| s == "missing_dependency") {
            continue;
        }
        let library = binary::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        found.push((path, bytes, library));
    }
    found
}

#[test]
fn libraries_are_equal_to_their_json() {
    for (path, _, file) in readable() {
        assert_eq!(file.layout, binary::Layout::B, "{}", path.display());
        assert!(
            !check::check(&file.library).has_errors(),
            "{}: {}",
            path.display(),
            check::check(&file.library)
        );
        let text = std::fs::read(path.with_extension("json")).expect("the corpus can be read");
        let modules: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&text).expect("is JSON");
        assert_eq!(modules.len(), file.named.len(), "{}", path.display());
        for id in &file.named {
            let name = &file.records[*id].names[0];
            let module = serde_json::to_vec(&modules[name]).expect("can be written");
            let library =
                json::read(&module).unwrap_or_else(|e| panic!("{}: {name}: {e}", path.display()));
            let entry = library.entry.expect("there is an entry");
            assert_eq!(
                dump(&file.library, *id),
                dump(&library, entry),
                "{}: {name}",
                path.display()
            );
        }
    }
}

#[test]
fn stored_usages_are_the_computed_ones() {
    for (path, _, file) in readable() {
        let usages = luisac_ast::usage::marked(&file.library);
        for (id, function) in &file.library.functions {
            for (variable, data) in &function.variables {
                let computed = usages[id][variable];
                assert_eq!(data.usage, computed, "{}: {variable} of {id}", path.display());
            }
        }
    }
}

#[test]
fn libraries_are_written_as_they_were() {
    for (path, bytes, file) in readable() {
        let written = binary::write(&file).expect("can be written");
        assert_eq!(written.len(), bytes.len(), "{}", path.display());
        // Padding may hold anything, and is written as zeros.
        let differs = written.iter().zip(&bytes).position(|(new, old)| new != old && *new != 0);
        assert_eq!(differs, None, "{}", path.display());
        assert!(binary::read(&written).expect("reads") == file, "{}", path.display());
        assert_eq!(
            binary::write(&binary::read(&written).expect("reads")).expect("can be written"),
            written
        );
    }
}

/// The newest layout, made from the files of the older one.
#[test]
fn the_newest_layout_reads_and_writes() {
    for (path, _, mut file) in readable() {
        let sets = |ops: &[u8]| {
            let mut set = vec![0u8; 408usize.div_ceil(8)];
            for number in (0..229u32).filter(|n| ops[*n as usize / 8] >> (n % 8) & 1 == 1) {
                let op = luisac_ast::CallOp::from_number_a(number).expect("exists").number_c();
                set[usize::from(op) / 8] |= 1 << (op % 8);
            }
            set
        };
        file.layout = binary::Layout::C;
        for record in file.records.values_mut() {
            record.direct_ops = sets(&record.direct_ops);
            record.all_ops = sets(&record.all_ops);
            record.noinline = true;
        }
        let written = binary::write(&file).expect("can be written");
        let again = binary::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(again.layout, binary::Layout::C, "{}", path.display());
        assert!(again == file, "{}", path.display());
    }
}

#[test]
fn a_missing_callee_is_named() {
    let Some(corpus) = support::corpus() else { return };
    let bytes = std::fs::read(corpus.join("callable-libraries/missing_dependency.bin"))
        .expect("the corpus can be read");
    let errors = binary::read(&bytes).expect_err("must be refused");
    assert_eq!(errors.0[0].code, binary::codes::MISSING_CALLEE, "{errors}");
    assert!(errors.0[0].offset.is_some());
}

#[test]
fn damaged_libraries_do_not_panic() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    };
    for (path, bytes, _) in readable() {
        for len in (0..bytes.len()).step_by(bytes.len() / 61 + 1) {
            assert!(binary::read(&bytes[..len]).is_err(), "{} cut to {len} bytes", path.display());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(binary::read(&longer).is_err(), "{}", path.display());
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            let at = random() % damaged.len();
            damaged[at] = if random() % 2 == 0 { 0xff } else { damaged[at] ^ 1 << (random() % 8) };
            if let Ok(file) = binary::read(&damaged) {
                let _ = check::check(&file.library);
            }
        }
    }
}
