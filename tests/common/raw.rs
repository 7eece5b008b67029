//! Cases as bytes: a kernel compiled to a file, its arguments as they lie in memory, and its parameter block, for tests that run
//! code in their own way.

use super::case::{Case, Wrong, numbers, width};
use super::{Folder, head, luisac};
use luisac_artifact::PixelStorage;
use luisac_artifact::layout::{DataLayout, TypeId, TypeKind};
use luisac_artifact::metadata::{Argument, ArgumentKind, Metadata};
use serde_json::Value;
use std::path::PathBuf;

/// An argument in memory.
#[derive(Clone, Debug)]
pub enum Raw {
    Value(Vec<u8>),
    Buffer(Vec<u8>),
    Image { storage: PixelStorage, size: [u32; 3], is_3d: bool, texels: Vec<u8> },
}

/// A compiled case.
pub struct Compiled {
    pub code: PathBuf,
    pub metadata: Metadata,
    pub arguments: Vec<Raw>,
    pub dispatch: [u32; 3],
}

/// Bytes of the log's data.
pub const LOG_CAPACITY: u64 = 1 << 16;

/// Why a case was not compiled.
pub enum Refusal {
    /// The target does not hold an operation or type.
    Unsupported(String),
    /// Anything else.
    Wrong(String),
}

impl Case {
    /// Compiles the kernel for a target, with the flags of the case and others.
    pub fn compile(
        &self,
        folder: &Folder,
        target: &str,
        flags: &[&str],
    ) -> Result<Compiled, Refusal> {
        let code = folder.path().join("kernel.code");
        let mut line = vec!["compile".to_owned(), self.kernel.display().to_string()];
        line.extend(flags.iter().map(|f| (*f).to_owned()));
        line.extend(["--target", target, "-q", "-o"].map(str::to_owned));
        line.push(code.display().to_string());
        line.extend(self.flags());
        let outcome = luisac(folder.path(), line);
        if outcome.code != Some(0) {
            let said = head(&outcome.stderr);
            let is_refusal = outcome.code == Some(1)
                && outcome.codes().iter().all(|c| ["L0900", "L0901"].contains(c));
            return Err(if is_refusal { Refusal::Unsupported(said) } else { Refusal::Wrong(said) });
        }
        let name = target.split(':').next().unwrap_or(target);
        let text = folder.read(&format!("kernel.{name}.json"));
        let metadata =
            Metadata::from_json(&text).map_err(|e| Refusal::Wrong(format!("the metadata: {e}")))?;
        let arguments = self.raw(&metadata).map_err(Refusal::Wrong)?;
        let axis = |i: usize| self.recorded["dispatch"][i].as_u64().unwrap_or(1) as u32;
        Ok(Compiled { code, metadata, arguments, dispatch: [0, 1, 2].map(axis) })
    }

    fn raw(&self, metadata: &Metadata) -> Result<Vec<Raw>, String> {
        if metadata.arguments.len() != self.args().len() {
            return Err(format!("the metadata has {} arguments", metadata.arguments.len()));
        }
        self.args().iter().zip(&metadata.arguments).map(|(arg, a)| raw(arg, a)).collect()
    }

    /// Compares what came back with what should have.
    pub fn compare_raw(&self, compiled: &Compiled, results: &[Raw]) -> Result<(), Wrong> {
        let arguments = self.args().iter().zip(&compiled.metadata.arguments).zip(results);
        for (i, ((arg, formal), result)) in arguments.enumerate() {
            let got = match result {
                Raw::Value(_) => continue,
                Raw::Buffer(bytes) => from_memory(&Elements::of(formal)?, bytes),
                Raw::Image { texels, .. } => {
                    let width = width(arg["type"].as_str().unwrap_or("float"));
                    texels.chunks(width).map(word).collect()
                }
            };
            self.compare_numbers(i, arg, &got)?;
        }
        Ok(())
    }
}

impl Compiled {
    /// The parameter block, with sizes in the place of addresses.
    pub fn parameter_block(&self) -> Vec<u8> {
        let params = &self.metadata.params;
        let mut block = vec![0; params.size as usize];
        for (formal, raw) in self.metadata.arguments.iter().zip(&self.arguments) {
            let at = formal.offset as usize;
            match raw {
                Raw::Value(bytes) => block[at..at + bytes.len()].copy_from_slice(bytes),
                Raw::Buffer(bytes) => put(&mut block, at + 8, bytes.len() as u64),
                Raw::Image { storage, .. } => put(&mut block, at + 8, storage.number().into()),
            }
        }
        if let Some(log) = params.log {
            put(&mut block, log as usize, LOG_CAPACITY);
        }
        for (i, n) in self.dispatch.iter().enumerate() {
            let at = params.dispatch as usize + 4 * i;
            block[at..at + 4].copy_from_slice(&n.to_le_bytes());
        }
        block
    }
}

fn put(block: &mut [u8], at: usize, value: u64) {
    block[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn raw(arg: &Value, formal: &Argument) -> Result<Raw, String> {
    // Of a vector or matrix, the scalar.
    let kind = arg["type"].as_str().ok_or("no type")?;
    let kind = kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    let data = if arg["kind"] == "uniform" {
        match &arg["value"] {
            Value::Array(all) => Value::Array(all.clone()),
            one => Value::Array(vec![one.clone()]),
        }
    } else {
        arg["data"].clone()
    };
    let bits: Vec<u64> = numbers(kind, &data).into_iter().map(Option::unwrap_or_default).collect();
    match (formal.kind, arg["kind"].as_str()) {
        (ArgumentKind::Value, _) => Ok(Raw::Value(to_memory(&Elements::of(formal)?, &bits))),
        (ArgumentKind::Buffer, _) => Ok(Raw::Buffer(to_memory(&Elements::of(formal)?, &bits))),
        (ArgumentKind::Image, _) => image(arg, kind, &bits),
        (other, _) => Err(format!("an argument is {other:?}")),
    }
}

fn image(arg: &Value, kind: &str, bits: &[u64]) -> Result<Raw, String> {
    let axis = |name: &str| arg[name].as_u64().unwrap_or(1);
    let storage = match kind {
        "float" | "half" => kind,
        _ => ["byte", "short", "", "int"][width(kind) - 1],
    };
    let name = format!("{storage}{}", axis("channels"));
    let storage = PixelStorage::from_name(&name).ok_or(format!("no storage `{name}`"))?;
    let width = width(kind);
    let texels = bits.iter().flat_map(|b| b.to_le_bytes()[..width].to_vec()).collect();
    let size = ["width", "height", "depth"].map(|a| axis(a) as u32);
    Ok(Raw::Image { storage, size, is_3d: arg["depth"].is_u64(), texels })
}

/// How the scalars of an element lie in memory; one byte each for structures, which travel as bytes.
struct Elements {
    size: usize,
    width: usize,
    offsets: Vec<usize>,
}

impl Elements {
    fn of(formal: &Argument) -> Result<Elements, String> {
        let layout = DataLayout::parse(&formal.ty).map_err(|e| e.message.to_owned())?;
        let root = match layout.kind(layout.root()) {
            TypeKind::Buffer(element) => *element,
            _ => Some(layout.root()),
        };
        let Some(root) = root else { return Ok(Elements { size: 1, width: 1, offsets: vec![0] }) };
        let size = layout.size(root) as usize;
        match offsets(&layout, root) {
            Some((width, offsets)) => Ok(Elements { size, width, offsets }),
            None => Ok(Elements { size, width: 1, offsets: (0..size).collect() }),
        }
    }
}

/// Bytes of the scalar, and where each lies; nothing for structures.
fn offsets(layout: &DataLayout, root: TypeId) -> Option<(usize, Vec<usize>)> {
    match layout.kind(root) {
        TypeKind::Scalar(scalar) => Some((scalar.bytes() as usize, vec![0])),
        TypeKind::Vector(scalar, dim) => {
            let width = scalar.bytes() as usize;
            Some((width, (0..*dim as usize).map(|i| i * width).collect()))
        }
        TypeKind::Matrix(dim) => {
            let (dim, column) = (*dim as usize, if *dim == 2 { 8 } else { 16 });
            Some((4, (0..dim * dim).map(|i| i / dim * column + i % dim * 4).collect()))
        }
        TypeKind::Array(element, len) => {
            let (width, inner) = offsets(layout, *element)?;
            let stride = layout.size(*element) as usize;
            let starts = (0..*len as usize).map(|i| i * stride);
            Some((width, starts.flat_map(|s| inner.iter().map(move |o| s + o)).collect()))
        }
        _ => None,
    }
}

fn to_memory(elements: &Elements, bits: &[u64]) -> Vec<u8> {
    let count = bits.len() / elements.offsets.len().max(1);
    let mut memory = vec![0; count * elements.size];
    for (i, word) in bits.iter().enumerate() {
        let n = elements.offsets.len();
        let at = i / n * elements.size + elements.offsets[i % n];
        let Some(place) = memory.get_mut(at..at + elements.width) else { continue };
        place.copy_from_slice(&word.to_le_bytes()[..elements.width]);
    }
    memory
}

fn from_memory(elements: &Elements, memory: &[u8]) -> Vec<u64> {
    let each = memory.chunks_exact(elements.size.max(1));
    each.flat_map(|e| elements.offsets.iter().map(|&o| word(&e[o..o + elements.width]))).collect()
}
