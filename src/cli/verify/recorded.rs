//! Recorded cases: `NAME.expect.json` beside `NAME.json` (`docs/verification.md`).

use super::super::options;
use super::super::run::argument::{Actual, Formal, ImageData, from_array, parse};
use super::super::run::bindless::{BufferData, SlotData, SlotImage};
use super::super::run::image::image_from_array;
use super::super::run::npy::{Array, Element};
use clap::Parser;
use luisac::codes;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeKind, TypeTable};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What an argument shall be after a run.
#[derive(Clone, Default)]
pub struct Want {
    pub bytes: Vec<u8>,
    /// Bytes that may be anything.
    pub any: Option<Vec<bool>>,
    /// Relative, of floats.
    pub tolerance: f64,
    /// Of a bindless array: what the buffer of each slot shall hold, nothing where there is none.
    pub slots: Vec<Option<Want>>,
}

impl Want {
    /// What an argument is, with no tolerance.
    fn of(actual: Actual) -> Self {
        let plain = |bytes| Self { bytes, ..Self::default() };
        match actual {
            Actual::Value(bytes) | Actual::Buffer { bytes, .. } | Actual::Indirect(bytes) => {
                plain(bytes)
            }
            Actual::Image(image) => plain(image.bytes),
            Actual::Bindless(slots) => {
                let slots = slots.into_iter().map(|slot| slot.buffer.map(|b| plain(b.bytes)));
                Self { slots: slots.collect(), ..Self::default() }
            }
        }
    }
}

/// What a run shall leave.
#[derive(Default)]
pub struct Expected {
    /// One an argument.
    pub wants: Vec<Want>,
    /// The lines printed, if that is known.
    pub lines: Option<Vec<String>>,
    /// The input must be refused, or the run stop.
    pub error: bool,
    /// It may be refused.
    pub may_error: bool,
}

impl Expected {
    /// What another run left.
    pub fn of_run(after: Vec<Actual>, lines: Vec<String>) -> Self {
        Self {
            wants: after.into_iter().map(Want::of).collect(),
            lines: Some(lines),
            ..Self::default()
        }
    }
}

/// A case as it stands in its file.
#[derive(Deserialize)]
pub struct Case {
    #[serde(default)]
    dispatch: Vec<u32>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    args: Vec<Recorded>,
    #[serde(default)]
    expect: BTreeMap<String, Value>,
    #[serde(default)]
    may_error: bool,
    #[serde(skip)]
    name: String,
}

#[derive(Deserialize)]
struct Recorded {
    #[serde(default)]
    kind: String,
    #[serde(rename = "type", default)]
    ty: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    value: Value,
    width: Option<u64>,
    height: Option<u64>,
    depth: Option<u64>,
    channels: Option<u64>,
    /// Of an image; its data is all levels one after the other, the largest first.
    levels: Option<u32>,
    /// Filter and address of the image of a slot.
    #[serde(default)]
    sampler: [u32; 2],
    /// Of a bindless array.
    #[serde(default)]
    slots: Vec<RecordedSlot>,
}

#[derive(Deserialize)]
struct RecordedSlot {
    buffer: Option<Recorded>,
    image2d: Option<Recorded>,
    image3d: Option<Recorded>,
}

/// The case beside a kernel's file, if there is one.
///
/// # Errors
/// A file that cannot be read.
pub fn beside(kernel: &Path) -> Result<Option<Case>, Diagnostic> {
    let path = kernel.with_extension("expect.json");
    if kernel == path || !path.is_file() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let bad = |e: &dyn std::fmt::Display| {
        Diagnostic::error(codes::BAD_CASE, format!("`{name}` cannot be read: {e}"))
    };
    let text = std::fs::read(&path).map_err(|e| bad(&e))?;
    let value: Value = serde_json::from_slice(&text).map_err(|e| bad(&e))?;
    let case: Case = serde_json::from_value(value).map_err(|e| bad(&e))?;
    Ok(Some(Case { name, ..case }))
}

/// The flags of a case, as on the command line.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Flags {
    #[command(flatten)]
    code: options::CodeOptions,
}

impl Case {
    fn bad(&self, message: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(codes::BAD_CASE, format!("`{}`: {message}", self.name))
    }

    /// Whether the input must be refused.
    pub fn expects_error(&self) -> bool {
        self.expect.get("error") == Some(&Value::Bool(true))
    }

    /// Sets the flags that the case names.
    pub fn flags(&self, into: &mut options::CodeOptions) -> Result<(), Diagnostic> {
        let own = Flags::try_parse_from(&self.flags).map_err(|e| self.bad(e.render()))?.code;
        for flag in &self.flags {
            match flag.split('=').next() {
                Some("--math") => into.math = own.math,
                Some("--bounds") => into.bounds = own.bounds,
                Some("--block") => into.block = own.block,
                Some("--define") => into.define.clone_from(&own.define),
                _ => {}
            }
        }
        Ok(())
    }

    /// Threads on each axis.
    pub fn dispatch(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.dispatch.get(i).copied().unwrap_or(1))
    }

    /// The arguments before the run.
    pub fn actuals(
        &self,
        types: &TypeTable,
        formals: &[Formal],
    ) -> Result<Vec<Actual>, Diagnostic> {
        if self.args.len() != formals.len() && !self.expects_error() {
            return Err(self.bad(format!(
                "it has {} arguments, the kernel {}",
                self.args.len(),
                formals.len()
            )));
        }
        let one = |(recorded, formal): (&Recorded, &Formal)| recorded.actual(types, formal);
        let each = self.args.iter().zip(formals).map(one).enumerate();
        each.map(|(i, a)| a.map_err(|e| self.bad(format!("argument {i}: {e}")))).collect()
    }

    /// What they shall be after it.
    pub fn expected(
        &self,
        types: &TypeTable,
        formals: &[Formal],
        before: &[Actual],
    ) -> Result<Expected, Diagnostic> {
        let mut expected = Expected {
            error: self.expects_error(),
            may_error: self.may_error,
            ..Expected::default()
        };
        for (i, ((recorded, formal), before)) in
            self.args.iter().zip(formals).zip(before).enumerate()
        {
            let entry = |key: String| self.expect.get(&key);
            // What is not named stays as it was.
            let want = match before {
                Actual::Bindless(slots) => {
                    recorded.want_slots(slots, |k| entry(format!("{i}.{k}")))
                }
                _ => recorded.want(types, formal, before, entry(i.to_string())),
            };
            expected.wants.push(want.map_err(|e| self.bad(format!("expected argument {i}: {e}")))?);
        }
        Ok(expected)
    }
}

impl Recorded {
    fn actual(&self, types: &TypeTable, formal: &Formal) -> Result<Actual, String> {
        if self.kind == "uniform" {
            let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
            let words: Vec<String> = match &self.value {
                Value::Array(values) => values.iter().map(text).collect(),
                one => vec![text(one)],
            };
            return parse(types, formal, &words.join(","));
        }
        match types.kind(formal.ty) {
            TypeKind::BindlessArray => self
                .slots
                .iter()
                .map(RecordedSlot::data)
                .collect::<Result<_, _>>()
                .map(Actual::Bindless),
            TypeKind::Texture { dim, elem, .. } => self.image(*dim, *elem).map(Actual::Image),
            _ => from_array(types, formal, self.array(&self.data)?.0),
        }
    }

    /// The image with all its levels.
    fn image(&self, dim: u8, elem: Scalar) -> Result<ImageData, String> {
        let (whole, _) = self.array(&self.data)?;
        let axes = [self.depth, self.height, self.width];
        let (mut rest, mut image) = (whole.bytes.as_slice(), None::<ImageData>);
        for level in 0..self.levels.unwrap_or(1) {
            let size = axes.into_iter().flatten().map(|n| n.checked_shr(level).unwrap_or(0).max(1));
            let shape: Vec<u64> = size.chain(self.channels).collect();
            let count = product(&shape).and_then(|n| n.checked_mul(whole.element.size()));
            let (mine, others) =
                count.and_then(|n| rest.split_at_checked(n)).ok_or("too little data")?;
            rest = others;
            let array = Array { shape, element: whole.element, bytes: mine.to_vec() };
            let storage = image.as_ref().map(|i| i.storage);
            let part = image_from_array(dim, elem, &array, storage)?;
            match &mut image {
                None => image = Some(part),
                Some(image) => {
                    image.bytes.extend(part.bytes);
                    image.levels += 1;
                }
            }
        }
        image.filter(|_| rest.is_empty()).ok_or_else(|| "the data does not fill the levels".into())
    }

    /// An array of the recorded type, and which of its bytes may be anything.
    fn array(&self, data: &Value) -> Result<(Array, Vec<bool>), String> {
        let element = element(&self.ty)?;
        let (mut bytes, mut any) = (Vec::new(), Vec::new());
        if self.ty == "bytes" {
            let digits = data.as_str().unwrap_or_default().as_bytes();
            for pair in digits.chunks_exact(2) {
                let digits = std::str::from_utf8(pair).unwrap_or_default();
                let byte = u8::from_str_radix(digits, 16).ok();
                bytes.push(byte.unwrap_or_default());
                any.push(byte.is_none());
            }
        } else {
            for value in data.as_array().ok_or("`data` is no list")? {
                let bits = if value.is_null() { Some(0) } else { bits(element, value) };
                let bits = bits.ok_or_else(|| format!("{value} is no {}", self.ty))?;
                bytes.extend_from_slice(&bits.to_le_bytes()[..element.size()]);
                any.extend(std::iter::repeat_n(value.is_null(), element.size()));
            }
        }
        let axes = [self.depth, self.height, self.width, self.channels];
        let shape: Vec<u64> = axes.into_iter().flatten().collect();
        let count = bytes.len() / element.size();
        // Levels are taken apart by who reads them.
        let is_flat = shape.is_empty() || self.levels.is_some();
        let shape = if is_flat { vec![count as u64] } else { shape };
        if product(&shape) != Some(count) {
            return Err(format!("{count} numbers do not fill {shape:?}"));
        }
        Ok((Array { shape, element, bytes }, any))
    }

    /// What the buffers of the slots shall hold; `entry` gives what is recorded of a slot.
    fn want_slots<'a>(
        &self,
        before: &[SlotData],
        entry: impl Fn(usize) -> Option<&'a Value>,
    ) -> Result<Want, String> {
        let one = |(k, (slot, before)): (usize, (&RecordedSlot, &SlotData))| {
            let (Some(buffer), Some(data)) = (&slot.buffer, &before.buffer) else {
                return Ok(None);
            };
            let Some(entry) = entry(k) else {
                return Ok(Some(Want { bytes: data.bytes.clone(), ..Want::default() }));
            };
            let (array, any) =
                buffer.array(&entry["data"]).map_err(|e| format!("slot {k}: {e}"))?;
            let any = any.contains(&true).then_some(any);
            Ok(Some(Want {
                bytes: array.bytes,
                any,
                tolerance: tolerance(entry),
                ..Want::default()
            }))
        };
        let slots: Result<Vec<_>, String> =
            self.slots.iter().zip(before).enumerate().map(one).collect();
        Ok(Want { slots: slots?, ..Want::default() })
    }

    fn want(
        &self,
        types: &TypeTable,
        formal: &Formal,
        before: &Actual,
        entry: Option<&Value>,
    ) -> Result<Want, String> {
        let Some(entry) = entry else {
            return Ok(Want::of(before.clone()));
        };
        let (array, any) = self.array(&entry["data"])?;
        // The marks take the same way into memory as the numbers do.
        let marks = Array {
            shape: array.shape.clone(),
            element: array.element,
            bytes: any.iter().map(|a| u8::from(*a)).collect(),
        };
        let memory = |array| Ok::<_, String>(Want::of(from_array(types, formal, array)?).bytes);
        let any = if any.contains(&true) {
            Some(memory(marks)?.into_iter().map(|m| m != 0).collect())
        } else {
            None
        };
        Ok(Want { bytes: memory(array)?, any, tolerance: tolerance(entry), ..Want::default() })
    }
}

impl RecordedSlot {
    fn data(&self) -> Result<SlotData, String> {
        let buffer = |recorded: &Recorded| {
            let (array, _) = recorded.array(&recorded.data)?;
            Ok::<_, String>(BufferData::of_array(array))
        };
        let image = |recorded: &Recorded, dim| {
            let [filter, address] = recorded.sampler;
            let image = recorded.image(dim, Scalar::F32)?;
            Ok::<_, String>(SlotImage { image, sampler: filter * 4 + address })
        };
        Ok(SlotData {
            buffer: self.buffer.as_ref().map(buffer).transpose()?,
            image2d: self.image2d.as_ref().map(|r| image(r, 2)).transpose()?,
            image3d: self.image3d.as_ref().map(|r| image(r, 3)).transpose()?,
        })
    }
}

/// The tolerance of an expected result.
fn tolerance(entry: &Value) -> f64 {
    entry["tolerance"].as_f64().unwrap_or(0.0)
}

/// Numbers in an array of this shape, unless they are too many.
fn product(shape: &[u64]) -> Option<usize> {
    let count = shape.iter().try_fold(1u64, |n, s| n.checked_mul(*s))?;
    usize::try_from(count).ok()
}

fn element(ty: &str) -> Result<Element, String> {
    Ok(match ty {
        "byte" => Element::I8,
        "bool" | "ubyte" | "bytes" => Element::U8,
        "short" => Element::I16,
        "ushort" => Element::U16,
        "int" => Element::I32,
        "uint" => Element::U32,
        "long" => Element::I64,
        "ulong" => Element::U64,
        "half" => Element::F16,
        "float" => Element::F32,
        "double" => Element::F64,
        _ => return Err(format!("there is no type `{ty}`")),
    })
}

/// The bits of one number: a bit pattern, a decimal in a string, a truth value or a number.
fn bits(element: Element, value: &Value) -> Option<u64> {
    let float = |x: f64| match element {
        Element::F16 => Some(half::f16::from_f64(x).to_bits().into()),
        Element::F32 => Some((x as f32).to_bits().into()),
        Element::F64 => Some(x.to_bits()),
        _ => None,
    };
    match value {
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse::<i128>().ok().map(|n| n as u64),
        },
        Value::Bool(b) => Some(u64::from(*b)),
        Value::Number(n) => {
            float(n.as_f64()?).or_else(|| n.as_i64().map(|i| i as u64)).or_else(|| n.as_u64())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_in_all_their_forms() {
        assert_eq!(bits(Element::F32, &json!("0x7fc00000")), Some(0x7fc0_0000));
        assert_eq!(bits(Element::F32, &json!(1)), Some(0x3f80_0000));
        assert_eq!(bits(Element::I64, &json!("-1")), Some(u64::MAX));
        assert_eq!(bits(Element::U64, &json!(u64::MAX)), Some(u64::MAX));
        assert_eq!(bits(Element::I32, &json!(-2)), Some(-2i64 as u64));
        assert_eq!(bits(Element::U8, &json!(true)), Some(1));
        assert_eq!(bits(Element::U8, &json!([1])), None);
        assert_eq!(bits(Element::U8, &json!("x")), None);
    }
}
