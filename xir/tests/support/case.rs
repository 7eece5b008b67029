//! Kernels with inputs and exact outputs: `NAME.json` beside `NAME.expect.json`, in the format that the corpus describes.
#![allow(dead_code)]

use luisac_xir::eval::flat::Flat;
use luisac_xir::eval::{cast, double_to_half, half_to_double};
use luisac_xir::interp::{Arg, Bounds, PixelStorage};
use luisac_xir::{FunctionId, Module, Scalar, TypeId, TypeKind};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One case.
pub struct Case {
    pub name: String,
    /// The kernel's file.
    pub kernel: PathBuf,
    json: Value,
}

/// The cases of a folder of the corpus, by name; none if it is absent.
pub fn cases(folder: &str) -> Vec<Case> {
    let folder =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus")).join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut cases: Vec<Case> = entries
        .flatten()
        .filter_map(|entry| {
            let name =
                entry.file_name().to_string_lossy().strip_suffix(".expect.json")?.to_string();
            let json = serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()?;
            Some(Case { kernel: folder.join(format!("{name}.json")), name, json })
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn numbers(value: &Value) -> Vec<u32> {
    value.as_array().into_iter().flatten().filter_map(|v| v.as_u64()).map(|v| v as u32).collect()
}

fn scalar(name: &str) -> Scalar {
    Scalar::from_name(name.trim_end_matches(['2', '3', '4'])).unwrap_or(Scalar::U8)
}

/// A number of a case as the bits of a scalar; none for `null`.
fn bits(value: &Value, scalar: Scalar) -> Option<u64> {
    let float = |x: f64| match scalar {
        Scalar::F16 => double_to_half(x),
        Scalar::F32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    };
    let width = |x: i128| (x as u64) & (u64::MAX >> (64 - 8 * scalar.size()));
    match value {
        Value::Null => None,
        Value::Bool(b) => Some(u64::from(*b)),
        Value::String(text) => Some(match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).expect("hexadecimal digits"),
            None => width(text.parse().expect("an integer")),
        }),
        number if scalar.is_float() => number.as_f64().map(float),
        number => {
            let signed = number.as_i64().map(i128::from);
            signed.or(number.as_u64().map(i128::from)).map(width)
        }
    }
}

/// Bytes of a hex string; none for `??`.
fn hex(text: &str) -> Vec<Option<u8>> {
    let pair = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).ok();
    (0..text.len() / 2).map(|i| pair(2 * i)).collect()
}

/// The scalars of a buffer's element, and the bytes of a buffer that holds these in order.
fn element(module: &Module, ty: TypeId) -> Option<Flat> {
    let TypeKind::Buffer { elem, .. } = *module.types.kind(ty) else { return None };
    Flat::of(&module.types, elem, 1 << 20)
}

fn storage(kind: Scalar, channels: u64) -> PixelStorage {
    let name = match kind {
        Scalar::U8 | Scalar::I8 => "byte",
        Scalar::U16 | Scalar::I16 => "short",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
        _ => "int",
    };
    PixelStorage::from_name(&format!("{name}{channels}")).expect("a storage")
}

impl Case {
    pub fn dispatch(&self) -> [u32; 3] {
        let list = numbers(&self.json["dispatch"]);
        [list[0], list[1], list[2]]
    }

    /// Whether the input must be refused.
    pub fn is_refused(&self) -> bool {
        self.json["expect"]["error"] == Value::Bool(true)
    }

    pub fn may_be_refused(&self) -> bool {
        self.json["may_error"] == Value::Bool(true)
    }

    pub fn bounds(&self) -> Bounds {
        let flags: Vec<&str> =
            self.json["flags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        match flags.iter().position(|&f| f == "--bounds").and_then(|i| flags.get(i + 1)) {
            Some(&"clamp") => Bounds::Clamp,
            Some(&"trap") => Bounds::Trap,
            _ => Bounds::Off,
        }
    }

    fn arguments(&self) -> &[Value] {
        self.json["args"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The arguments at the start, for this kernel.
    pub fn args(&self, module: &Module, kernel: FunctionId) -> Vec<Arg> {
        let formals = &module.functions[kernel].arguments;
        let pairs = self.arguments().iter().zip(formals);
        pairs.map(|(arg, formal)| argument(module, arg, formal.ty)).collect()
    }

    /// What is wrong with the arguments after the run, if anything.
    pub fn check(&self, module: &Module, kernel: FunctionId, after: &[Arg]) -> Result<(), String> {
        let formals = &module.functions[kernel].arguments;
        for (i, ((arg, formal), got)) in self.arguments().iter().zip(formals).zip(after).enumerate()
        {
            if arg["kind"] == "uniform" {
                continue;
            }
            let expect = &self.json["expect"][i.to_string()];
            let want = if expect.is_null() { &arg["data"] } else { &expect["data"] };
            let tolerance = expect["tolerance"].as_f64().unwrap_or(0.0);
            let bytes = match got {
                Arg::Buffer(bytes) | Arg::Value(bytes) => bytes,
                Arg::Image { data, .. } | Arg::IndirectDispatch(data) => data,
                Arg::Bindless(_) => continue,
            };
            let found = match arg["type"].as_str() {
                Some("bytes") => compare_bytes(want, bytes),
                kind => {
                    let kind = scalar(kind.unwrap_or_default());
                    let flat = element(module, formal.ty).unwrap_or(Flat {
                        parts: vec![luisac_xir::eval::flat::Part { offset: 0, scalar: kind }],
                        size: kind.size().into(),
                    });
                    compare(want, bytes, &flat, kind, tolerance)
                }
            };
            found.map_err(|wrong| format!("argument {i} ({}): {wrong}", arg["name"]))?;
        }
        Ok(())
    }
}

fn argument(module: &Module, arg: &Value, ty: TypeId) -> Arg {
    let kind = scalar(arg["type"].as_str().unwrap_or_default());
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    match arg["kind"].as_str() {
        Some("uniform") => {
            let flat = Flat::of(&module.types, ty, 1 << 16).expect("a small value");
            let values = if arg["value"].is_array() {
                list(&arg["value"])
            } else {
                vec![arg["value"].clone()]
            };
            let scalars: Vec<u64> = values
                .iter()
                .zip(&flat.parts)
                .map(|(v, part)| {
                    let given = bits(v, kind).unwrap_or(0);
                    cast(kind, part.scalar).map_or(given, |cast| cast(given))
                })
                .collect();
            Arg::Value(flat.write(&scalars))
        }
        Some("image") => {
            let size = |key: &str| arg[key].as_u64().unwrap_or(1);
            let data = list(&arg["data"]);
            let bytes = data.iter().flat_map(|v| {
                bits(v, kind).unwrap_or(0).to_le_bytes().into_iter().take(kind.size() as usize)
            });
            Arg::Image {
                storage: storage(kind, size("channels")),
                width: size("width") as u32,
                height: size("height") as u32,
                depth: size("depth") as u32,
                levels: size("levels") as u32,
                data: bytes.collect(),
            }
        }
        _ if arg["type"] == "bytes" => {
            let data = hex(arg["data"].as_str().unwrap_or_default());
            Arg::Buffer(data.into_iter().map(|b| b.unwrap_or(0)).collect())
        }
        _ => {
            let flat = element(module, ty).expect("a buffer");
            let scalars: Vec<u64> =
                list(&arg["data"]).iter().map(|v| bits(v, kind).unwrap_or(0)).collect();
            let elements = scalars.chunks(flat.parts.len().max(1));
            Arg::Buffer(elements.flat_map(|e| flat.write(e)).collect())
        }
    }
}

fn compare_bytes(want: &Value, got: &[u8]) -> Result<(), String> {
    let want = hex(want.as_str().unwrap_or_default());
    if want.len() != got.len() {
        return Err(format!("{} bytes, wanted {}", got.len(), want.len()));
    }
    let bad = want.iter().zip(got).position(|(w, g)| w.is_some_and(|w| w != *g));
    match bad {
        Some(i) => Err(format!("byte {i} is {:02x}, wanted {:02x}", got[i], want[i].unwrap_or(0))),
        None => Ok(()),
    }
}

fn number(bits: u64, scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F16 => half_to_double(bits),
        Scalar::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

fn compare(
    want: &Value,
    got: &[u8],
    flat: &Flat,
    kind: Scalar,
    tolerance: f64,
) -> Result<(), String> {
    let got: Vec<u64> = got.chunks(flat.size.max(1) as usize).flat_map(|e| flat.read(e)).collect();
    let want = want.as_array().map_or(&[][..], Vec::as_slice);
    if want.len() != got.len() {
        return Err(format!("{} numbers, wanted {}", got.len(), want.len()));
    }
    for (i, (want, &got)) in want.iter().zip(&got).enumerate() {
        let Some(want) = bits(want, kind) else { continue };
        let mut equal = want == got;
        if kind.is_float() {
            let (w, g) = (number(want, kind), number(got, kind));
            equal |= w.is_nan() && g.is_nan();
            equal |= tolerance > 0.0 && (w - g).abs() <= tolerance * w.abs();
        }
        if !equal {
            return Err(format!("number {i} is {got:#x}, wanted {want:#x}"));
        }
    }
    Ok(())
}
