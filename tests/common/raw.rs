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
    Image(RawImage),
    Bindless(Vec<RawSlot>),
}

/// An image with all its levels, the largest first.
#[derive(Clone, Debug)]
pub struct RawImage {
    pub storage: PixelStorage,
    /// Of the first level.
    pub size: [u32; 3],
    pub is_3d: bool,
    pub levels: u32,
    pub texels: Vec<u8>,
}

impl RawImage {
    /// The texels of each level.
    pub fn level_texels(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut rest = self.texels.as_slice();
        (0..self.levels).map(move |level| {
            let count: u32 = self.size.iter().map(|n| (n >> level).max(1)).product();
            let (mine, others) = rest.split_at((count * self.storage.bytes()) as usize);
            rest = others;
            (level, mine)
        })
    }
}

/// What a slot of a bindless array holds.
#[derive(Clone, Debug, Default)]
pub struct RawSlot {
    pub buffer: Option<Vec<u8>>,
    /// Images of two and of three dimensions, each with its sampler `filter * 4 + address`.
    pub images: [Option<(RawImage, u32)>; 2],
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
            let flat = |arg: &Value, bytes: &[u8]| -> Vec<u64> {
                bytes.chunks(width(arg["type"].as_str().unwrap_or("float"))).map(word).collect()
            };
            let got = match result {
                Raw::Value(_) => continue,
                Raw::Buffer(bytes) => from_memory(&Elements::of(formal)?, bytes),
                Raw::Image(image) => flat(arg, &image.texels),
                Raw::Bindless(slots) => {
                    for (k, slot) in slots.iter().enumerate() {
                        let Some(bytes) = &slot.buffer else { continue };
                        let arg = &arg["slots"][k]["buffer"];
                        self.compare_numbers((i, &format!("{i}.{k}")), arg, &flat(arg, bytes))?;
                    }
                    continue;
                }
            };
            self.compare_numbers((i, &i.to_string()), arg, &got)?;
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
                Raw::Image(image) => put(&mut block, at + 8, image.storage.number().into()),
                Raw::Bindless(slots) => put(&mut block, at + 8, slots.len() as u64),
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
    if formal.kind == ArgumentKind::BindlessArray {
        let slots = arg["slots"].as_array().ok_or("no slots")?;
        return slots.iter().map(slot).collect::<Result<_, _>>().map(Raw::Bindless);
    }
    match formal.kind {
        ArgumentKind::Value => Ok(Raw::Value(to_memory(&Elements::of(formal)?, &words(arg)?.1))),
        ArgumentKind::Buffer => Ok(Raw::Buffer(to_memory(&Elements::of(formal)?, &words(arg)?.1))),
        ArgumentKind::Image => image(arg).map(Raw::Image),
        other => Err(format!("an argument is {other:?}")),
    }
}

/// The scalar type of an argument, and its numbers.
fn words(arg: &Value) -> Result<(&str, Vec<u64>), String> {
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
    Ok((kind, numbers(kind, &data).into_iter().map(Option::unwrap_or_default).collect()))
}

/// The bytes of numbers side by side.
fn packed(kind: &str, bits: &[u64]) -> Vec<u8> {
    bits.iter().flat_map(|b| b.to_le_bytes()[..width(kind)].to_vec()).collect()
}

fn image(arg: &Value) -> Result<RawImage, String> {
    let (kind, bits) = words(arg)?;
    let axis = |name: &str| arg[name].as_u64().unwrap_or(1);
    let storage = match kind {
        "float" | "half" => kind,
        _ => ["byte", "short", "", "int"][width(kind) - 1],
    };
    let name = format!("{storage}{}", axis("channels"));
    let storage = PixelStorage::from_name(&name).ok_or(format!("no storage `{name}`"))?;
    let size = ["width", "height", "depth"].map(|a| axis(a) as u32);
    let (is_3d, levels) = (arg["depth"].is_u64(), axis("levels") as u32);
    Ok(RawImage { storage, size, is_3d, levels, texels: packed(kind, &bits) })
}

fn slot(recorded: &Value) -> Result<RawSlot, String> {
    let buffer = |arg: &Value| words(arg).map(|(kind, bits)| packed(kind, &bits));
    let image = |arg: &Value| {
        let code = |i: usize| arg["sampler"][i].as_u64().unwrap_or_default() as u32;
        image(arg).map(|image| (image, code(0) * 4 + code(1)))
    };
    let held = |name: &str| Some(&recorded[name]).filter(|v| v.is_object());
    Ok(RawSlot {
        buffer: held("buffer").map(buffer).transpose()?,
        images: [held("image2d").map(image).transpose()?, held("image3d").map(image).transpose()?],
    })
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
