//! Rust for the kernels of an archive: a structure for each, whose `dispatch` takes just its arguments.

use luisac_artifact::metadata::{Argument, ArgumentKind, BoundsMode};
use luisac_artifact::{Archive, ArchiveError, DataLayout, Metadata, Scalar, TypeId, TypeKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The file that `include_kernels!` includes.
///
/// # Errors
/// An archive that cannot be read.
pub fn rust(archive: &Archive, name: &str) -> Result<String, ArchiveError> {
    let mut writer = Writer::default();
    for kernel in archive.kernels() {
        let mut bounds_kept = true;
        let mut first = None;
        for variant in archive.kernel(kernel) {
            let metadata = variant.metadata()?;
            bounds_kept &= metadata.bounds != BoundsMode::Off;
            first.get_or_insert(metadata);
        }
        if let Some(metadata) = first {
            writer.kernel(&metadata, bounds_kept);
        }
    }
    Ok(writer.finish(name))
}

#[derive(Default)]
struct Writer {
    kernels: String,
    /// Structures by description, with their names.
    structures: BTreeMap<String, String>,
    structure_text: String,
    names: BTreeSet<String>,
}

/// How an argument appears.
struct Formal {
    name: String,
    /// Its Rust type.
    ty: String,
    /// The expression that makes an `Argument` of it.
    value: String,
    documentation: String,
}

const R: &str = "::luisac_runtime";

impl Writer {
    fn finish(self, name: &str) -> String {
        format!(
            "// Written by luisac {version} for `{name}`; do not edit.\n\n\
             /// The archive that this module's kernels are in.\n///\n/// # Errors\n/// An archive that is damaged.\n\
             pub fn archive() -> ::core::result::Result<&'static {R}::Archive, {R}::RuntimeError> {{\n\
             \x20   static ARCHIVE: ::std::sync::OnceLock<::core::result::Result<{R}::Archive, {R}::ArchiveError>> =\n\
             \x20       ::std::sync::OnceLock::new();\n\
             \x20   let archive = ARCHIVE.get_or_init(|| {R}::include_archive!(path: {name:?}));\n\
             \x20   archive.as_ref().map_err(|e| {R}::RuntimeError::archive(e))\n}}\n{}{}",
            self.structure_text,
            self.kernels,
            version = env!("CARGO_PKG_VERSION"),
        )
    }

    fn kernel(&mut self, metadata: &Metadata, bounds_kept: bool) {
        let name = self.free_name(&camel(&metadata.kernel));
        let text = &metadata.kernel;
        let mut taken = BTreeSet::from(["list".to_owned(), "size".to_owned()]);
        let formals: Vec<Option<Formal>> = metadata
            .arguments
            .iter()
            .enumerate()
            .map(|(i, a)| self.formal(i, a, &mut taken))
            .collect();
        let (keyword, safety) = if bounds_kept {
            ("", String::new())
        } else {
            let why = "    ///\n    /// # Safety\n    /// The kernel was compiled without bounds checks: it must not be dispatched so that it leaves its buffers.\n";
            ("unsafe ", why.to_owned())
        };
        self.kernels.push_str(&format!(
            "\n/// The kernel `{shown}`, in blocks of {block}.\n#[derive(Clone)]\npub struct {name}(pub {R}::Kernel);\n\nimpl {name} {{\n\
             \x20   /// Loads the variant that suits the device best.\n    ///\n    /// # Errors\n    /// If the device can run none, or refuses it.\n{safety}\
             \x20   pub {keyword}fn load(device: &{R}::Device) -> ::core::result::Result<Self, {R}::RuntimeError> {{\n\
             \x20       // SAFETY: the archive is what the compiler wrote when this program was built{promise}.\n\
             \x20       unsafe {{ Self::load_with(device, &[]) }}\n    }}\n\n\
             \x20   /// Loads the permutation with these arguments made constant.\n    ///\n    /// # Errors\n    /// As [`Self::load`], and if there is no such permutation.\n    ///\n    /// # Safety\n    /// A kernel compiled without bounds checks must not be dispatched so that it leaves its buffers.\n\
             \x20   pub unsafe fn load_with(device: &{R}::Device, defines: &[(&str, &str)]) -> ::core::result::Result<Self, {R}::RuntimeError> {{\n\
             \x20       // SAFETY: as above.\n        unsafe {{ device.kernel(archive()?, {text:?}, defines).map(Self) }}\n    }}\n",
            shown = text.escape_debug(),
            block = metadata.block_size.map(|n| n.to_string()).join("x"),
            promise = if bounds_kept { ", and the kernel tests its indices" } else { "; the rest is the caller's promise" },
        ));
        let formals: Option<Vec<Formal>> = formals.into_iter().collect();
        if let Some(formals) = formals {
            self.kernels.push_str(&dispatch(&formals));
        }
        self.kernels.push_str("}\n");
    }

    /// An argument; nothing if the runtime has no form for its kind.
    fn formal(
        &mut self,
        index: usize,
        argument: &Argument,
        taken: &mut BTreeSet<String>,
    ) -> Option<Formal> {
        let wished = argument.name.as_deref().map(snake).filter(|n| !n.is_empty());
        let prefix = if argument.captured { "captured" } else { "argument" };
        let mut name = wished.unwrap_or_else(|| format!("{prefix}_{index}"));
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        let layout = DataLayout::parse(&argument.ty).ok()?;
        let root = layout.root();
        let (ty, value) = match argument.kind {
            ArgumentKind::Value => match self.value_type(&layout, root) {
                Some(ty) => (ty, format!("{R}::Argument::from({name})")),
                None => (format!("[u8; {}]", argument.size), format!("{R}::Argument::raw({name})")),
            },
            ArgumentKind::Buffer => {
                let element = match layout.kind(root) {
                    TypeKind::Buffer(Some(element)) => self.value_type(&layout, *element),
                    _ => None,
                };
                // Buffers of bytes go where the element has no Rust type.
                let element = element.unwrap_or_else(|| "u8".into());
                (format!("&{R}::Buffer<{element}>"), format!("{R}::Argument::from({name})"))
            }
            ArgumentKind::Image => (format!("&{R}::Image"), format!("{R}::Argument::from({name})")),
            ArgumentKind::BindlessArray => {
                (format!("&{R}::BindlessArray"), format!("{R}::Argument::from({name})"))
            }
            ArgumentKind::IndirectDispatch => {
                (format!("&{R}::IndirectBuffer"), format!("{R}::Argument::from({name})"))
            }
            ArgumentKind::Accel => return None,
        };
        let usage = match argument.usage {
            luisac_artifact::metadata::Usage::None => "not used",
            luisac_artifact::metadata::Usage::Read => "read",
            luisac_artifact::metadata::Usage::Write => "written",
            luisac_artifact::metadata::Usage::ReadWrite => "read and written",
        };
        let documentation = format!("`{name}`: `{}`, {usage}", argument.ty);
        Some(Formal { name, ty, value, documentation })
    }

    /// The Rust type of plain data; nothing if it has none. Structures are declared as they are met, innermost first; the walk keeps its own
    /// stack.
    fn value_type(&mut self, layout: &DataLayout, root: TypeId) -> Option<String> {
        let mut done: HashMap<TypeId, String> = HashMap::new();
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            let parts: Vec<TypeId> = match layout.kind(id) {
                TypeKind::Array(element, _) => vec![*element],
                TypeKind::Struct(members) => members.iter().map(|(member, _)| *member).collect(),
                _ => Vec::new(),
            };
            if !ready && !parts.is_empty() {
                stack.push((id, true));
                stack.extend(parts.into_iter().map(|part| (part, false)));
                continue;
            }
            let text = match layout.kind(id) {
                TypeKind::Scalar(scalar) => rust_scalar(*scalar)?.to_owned(),
                TypeKind::Vector(scalar, n) => {
                    format!("{R}::Vector<{}, {n}>", rust_scalar(*scalar)?)
                }
                TypeKind::Matrix(n) => format!("{R}::Matrix<{n}>"),
                TypeKind::Array(element, n) => format!("[{}; {n}]", done.get(element)?),
                TypeKind::Struct(members) => {
                    let members: Option<Vec<(String, u64)>> = members
                        .iter()
                        .map(|(member, offset)| Some((done.get(member)?.clone(), *offset)))
                        .collect();
                    self.structure(&members?, layout.size(id), layout.align(id))
                }
                _ => return None,
            };
            done.insert(id, text);
        }
        done.remove(&root)
    }

    /// The name of a structure, declared the first time.
    fn structure(&mut self, members: &[(String, u64)], size: u64, align: u64) -> String {
        let description = format!("{align} {members:?}");
        if let Some(name) = self.structures.get(&description) {
            return name.clone();
        }
        let name = self.free_name(&format!("Structure{}", self.structures.len()));
        self.structures.insert(description, name.clone());
        let (mut fields, mut describe, mut store, mut load) =
            (String::new(), String::new(), String::new(), String::new());
        for (i, (ty, offset)) in members.iter().enumerate() {
            fields.push_str(&format!("    /// At byte {offset}.\n    pub m{i}: {ty},\n"));
            describe.push_str(&format!(
                "        out.push(',');\n        <{ty} as {R}::Value>::describe(out);\n"
            ));
            store.push_str(&format!(
                "        {R}::Value::store(self.m{i}, &mut bytes[{offset}..]);\n"
            ));
            load.push_str(&format!("            m{i}: {R}::Value::load(&bytes[{offset}..]),\n"));
        }
        self.structure_text.push_str(&format!(
            "\n/// A structure of kernels, {size} bytes aligned to {align}.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct {name} {{\n{fields}}}\n\n\
             impl {R}::Value for {name} {{\n    const SIZE: usize = {size};\n    const ALIGN: usize = {align};\n\n\
             \x20   fn describe(out: &mut String) {{\n        out.push_str(\"struct<{align}\");\n{describe}        out.push('>');\n    }}\n\n\
             \x20   fn store(self, bytes: &mut [u8]) {{\n{store}    }}\n\n\
             \x20   fn load(bytes: &[u8]) -> Self {{\n        Self {{\n{load}        }}\n    }}\n}}\n"
        ));
        name
    }

    fn free_name(&mut self, wished: &str) -> String {
        let mut name = wished.to_owned();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{wished}{number}");
            number += 1;
        }
        name
    }
}

fn dispatch(formals: &[Formal]) -> String {
    let parameters: String =
        formals.iter().map(|f| format!("        {}: {},\n", f.name, f.ty)).collect();
    let values: Vec<&str> = formals.iter().map(|f| f.value.as_str()).collect();
    let documentation: String =
        formals.iter().map(|f| format!("    /// - {}\n", f.documentation)).collect();
    format!(
        "\n    /// Records a dispatch over `size` threads.\n    ///\n{documentation}    ///\n    /// # Errors\n    /// What the list refuses, such as an image of another shape.\n\
         \x20   #[allow(clippy::too_many_arguments)]\n\
         \x20   pub fn dispatch<'list>(\n        &self,\n        list: &'list mut {R}::CommandList,\n{parameters}        size: [u32; 3],\n\
         \x20   ) -> ::core::result::Result<&'list mut {R}::CommandList, {R}::RuntimeError> {{\n\
         \x20       let arguments: ::std::vec::Vec<{R}::Argument> = ::std::vec![{}];\n\
         \x20       list.dispatch(&self.0, arguments, size)\n    }}\n",
        values.join(", ")
    )
}

fn rust_scalar(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::Bool => "bool",
        Scalar::Byte => "i8",
        Scalar::UByte => "u8",
        Scalar::Short => "i16",
        Scalar::UShort => "u16",
        Scalar::Int => "i32",
        Scalar::UInt => "u32",
        Scalar::Long => "i64",
        Scalar::ULong => "u64",
        Scalar::Half => "::luisac_runtime::f16",
        Scalar::Float => "f32",
        Scalar::Double => "f64",
        Scalar::Float8E4M3 | Scalar::Float8E5M2 | Scalar::Int4 | Scalar::Fp4E2M1 => return None,
    })
}

/// `block_sums` and `block-sums` become `BlockSums`.
fn camel(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let mut text: String = words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        })
        .collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) || text == "Self" {
        text.insert_str(0, "Kernel");
    }
    text
}

/// A name as one of an argument; what is a word of Rust gets a line at its end.
fn snake(name: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut text: String = name.chars().map(clean).collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    if text.chars().all(|c| c == '_') {
        return String::new();
    }
    const WORDS: [&str; 51] = [
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum",
        "extern", "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move",
        "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
        "type", "unsafe", "use", "where", "while", "abstract", "become", "box", "do", "final",
        "gen", "macro", "override", "priv", "try", "typeof", "unsized", "virtual", "yield",
    ];
    if WORDS.contains(&text.as_str()) {
        text.push('_');
    }
    text
}
