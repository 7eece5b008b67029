//! One recorded case: `NAME.json` with `NAME.expect.json`, compiled for this machine, run, and compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use half::f16;
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_passes::RunOptions;
use luisac_runtime::{
    PixelStorage,
    host::{Arg, Buffer, Device, Image},
};
use luisac_targets::{Artifact, EmitOptions, OptLevel, Source, find_target, pipeline};
use luisac_xir::{Module, from_ast};
use serde_json::Value;

/// The recorded kernels, or nothing if they are not there.
pub fn corpus(folder: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus")).join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no {}", path.display());
    None
}

/// Lowers a file, or says why not.
pub fn lower(path: &Path) -> Result<Module, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let library = luisac_ast::json::read(&bytes).map_err(|e| format!("read: {}", first(&e)))?;
    from_ast::lower(&library, &from_ast::Options::default())
        .map_err(|e| format!("lower: {}", first(&e)))
}

/// Code and message of the first diagnostic.
pub fn first(e: &luisac_ast::Diagnostics) -> String {
    e.0.first().map_or_else(String::new, |d| format!("[{}] {}", d.code, d.message))
}

/// Compiles the first kernel of a module.
pub fn compile(
    module: &mut Module,
    word: &str,
    change: impl FnOnce(&mut EmitOptions),
) -> Result<Artifact, String> {
    let (target, detail) = find_target(word).map_err(|e| e.to_string())?;
    let mut options = EmitOptions::new(detail);
    change(&mut options);
    let pipeline = pipeline(target, &options).map_err(|e| e.to_string())?;
    pipeline.run(module, RunOptions::default()).map_err(|e| format!("passes: {}", first(&e)))?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let artifact = target
        .emit(module, kernel, &options)
        .map_err(|e| format!("emit: {} {:?}", first(&e), e.0.first().map(|d| &d.notes)))?;
    artifact.metadata.check().map_err(|e| format!("metadata: {e}"))?;
    Ok(artifact)
}

fn scalar(name: &str) -> Scalar {
    match name {
        "bool" => Scalar::Bool,
        "byte" => Scalar::I8,
        "ubyte" | "bytes" => Scalar::U8,
        "short" => Scalar::I16,
        "ushort" => Scalar::U16,
        "int" => Scalar::I32,
        "uint" => Scalar::U32,
        "long" => Scalar::I64,
        "ulong" => Scalar::U64,
        "half" => Scalar::F16,
        "double" => Scalar::F64,
        _ => Scalar::F32,
    }
}

/// The bits of a number of the case.
fn bits(v: &Value, s: Scalar) -> u64 {
    let raw = match v {
        Value::String(text) => match text.strip_prefix("0x") {
            Some(hex) => return u64::from_str_radix(hex, 16).unwrap(),
            None if s.is_float() => return float_bits(text.parse().unwrap(), s),
            None => text.parse::<i128>().unwrap(),
        },
        Value::Bool(b) => i128::from(*b),
        Value::Null => 0,
        _ if s.is_float() => return float_bits(v.as_f64().unwrap(), s),
        _ => v.as_i64().map(i128::from).or(v.as_u64().map(i128::from)).unwrap(),
    };
    raw as u64 & (u64::MAX >> (64 - 8 * s.size()))
}

fn float_bits(x: f64, s: Scalar) -> u64 {
    match s {
        Scalar::F16 => f16::from_f64(x).to_bits().into(),
        Scalar::F32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

fn as_f64(bits: u64, s: Scalar) -> f64 {
    match s {
        Scalar::F16 => f16::from_bits(bits as u16).to_f64(),
        Scalar::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// The data of an argument: for each number its bits, or nothing if it may be anything.
fn numbers(data: &Value, kind: &str) -> Vec<Option<u64>> {
    if kind == "bytes" {
        let text = data.as_str().unwrap();
        return (0..text.len() / 2)
            .map(|i| u64::from_str_radix(&text[2 * i..2 * i + 2], 16).ok())
            .collect();
    }
    let of = |v: &Value| (!v.is_null()).then(|| bits(v, scalar(kind)));
    data.as_array().unwrap().iter().map(of).collect()
}

/// Byte offsets of the scalars of a type.
fn places(types: &TypeTable, ty: TypeId) -> Vec<u64> {
    match types.kind(ty) {
        TypeKind::Scalar(_) => vec![0],
        _ => (0..types.member_count(ty))
            .flat_map(|i| {
                let at = types.member_offset(ty, i);
                let inner = types.element_type(ty, i).unwrap();
                places(types, inner).into_iter().map(move |p| p + at).collect::<Vec<_>>()
            })
            .collect(),
    }
}

/// How the numbers of an argument lie in memory.
struct Form {
    scalar: Scalar,
    places: Vec<u64>,
    stride: u64,
}

impl Form {
    fn of(types: &TypeTable, ty: TypeId, kind: &str) -> Form {
        let scalar = scalar(kind);
        if kind == "bytes" || ty == TypeId::VOID {
            return Form { scalar, places: vec![0], stride: scalar.size().into() };
        }
        Form { scalar, places: places(types, ty), stride: types.stride(ty).max(1) }
    }
    fn bytes(&self, numbers: &[Option<u64>]) -> Vec<u8> {
        let per = self.places.len();
        let mut out = vec![0u8; numbers.len().div_ceil(per) * self.stride as usize];
        for (i, n) in numbers.iter().enumerate() {
            let at = (i / per) * self.stride as usize + self.places[i % per] as usize;
            let size = self.scalar.size() as usize;
            out[at..at + size].copy_from_slice(&n.unwrap_or(0).to_le_bytes()[..size]);
        }
        out
    }
    fn numbers(&self, bytes: &[u8], count: usize) -> Vec<u64> {
        let per = self.places.len();
        (0..count)
            .map(|i| {
                let at = (i / per) * self.stride as usize + self.places[i % per] as usize;
                let size = self.scalar.size() as usize;
                let mut word = [0; 8];
                word[..size].copy_from_slice(&bytes[at..at + size]);
                u64::from_le_bytes(word)
            })
            .collect()
    }
}

enum Bound {
    Buffer(Buffer, Form),
    Image(Image, Scalar, usize),
    Value(Vec<u8>),
}

fn compare(want: &[Option<u64>], got: &[u64], s: Scalar, tolerance: f64) -> Result<(), String> {
    if want.len() != got.len() {
        return Err(format!("{} numbers instead of {}", got.len(), want.len()));
    }
    let mut wrong = Vec::new();
    for (i, (w, &g)) in want.iter().zip(got).enumerate() {
        let Some(w) = *w else { continue };
        let close = || {
            let (w, g) = (as_f64(w, s), as_f64(g, s));
            (w.is_nan() && g.is_nan()) || (tolerance > 0.0 && (w - g).abs() <= tolerance * w.abs())
        };
        if w != g && !(s.is_float() && close()) {
            wrong.push((i, g, w));
        }
    }
    match wrong.first() {
        None => Ok(()),
        Some((i, g, w)) => Err(format!(
            "{} of {} differ, first [{i}]: {g:#x}, wanted {w:#x}",
            wrong.len(),
            want.len()
        )),
    }
}

/// Runs a case; the message says what is wrong.
pub fn run(
    folder: &Path,
    name: &str,
    level: OptLevel,
    word: &str,
    source: Option<&Arc<Source>>,
) -> Result<(), String> {
    let text = std::fs::read(folder.join(format!("{name}.expect.json"))).unwrap();
    let case: Value = serde_json::from_slice(&text).unwrap();
    let expect = &case["expect"];
    let refuses = expect["error"].as_bool() == Some(true);
    let result = run_case(folder, name, &case, level, word, source);
    match result {
        Err(e) if e.starts_with("read") || e.starts_with("lower") => {
            if refuses || case["may_error"].as_bool() == Some(true) { Ok(()) } else { Err(e) }
        }
        Ok(()) if refuses => Err("it was accepted".to_string()),
        other => other,
    }
}

fn run_case(
    folder: &Path,
    name: &str,
    case: &Value,
    level: OptLevel,
    word: &str,
    source: Option<&Arc<Source>>,
) -> Result<(), String> {
    let mut module = lower(&folder.join(format!("{name}.json")))?;
    let flags: Vec<&str> =
        case["flags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let flags = flags.join(" ");
    let artifact = compile(&mut module, word, |o| {
        o.source = source.cloned();
        o.opt_level = level;
        if flags.contains("--math precise") {
            o.math = MathMode::Precise;
        }
        if flags.contains("--bounds clamp") {
            o.bounds = BoundsMode::Clamp;
        }
        if flags.contains("--bounds trap") {
            o.bounds = BoundsMode::Trap;
        }
    })?;
    if case["expect"]["error"].as_bool() == Some(true) {
        return Ok(());
    }
    let device = Device::cpu_with_threads(2);
    // SAFETY: the object is what was just compiled, and the cases stay inside their buffers.
    let kernel = unsafe { device.load(&artifact.code, artifact.metadata) }
        .map_err(|e| format!("load: {e}"))?;
    let id = module.kernels().next().unwrap();
    let mut bound = Vec::new();
    for (a, given) in module.functions[id].arguments.iter().zip(case["args"].as_array().unwrap()) {
        bound.push(bind(&device, &module.types, a.ty, given)?);
    }
    let args: Vec<Arg<'_>> = bound
        .iter()
        .map(|b| match b {
            Bound::Buffer(b, _) => Arg::Buffer(b),
            Bound::Image(i, ..) => Arg::Image(i),
            Bound::Value(v) => Arg::Value(v),
        })
        .collect();
    let size: Vec<u32> =
        case["dispatch"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect();
    let mut launch = kernel.bind(&args).map_err(|e| format!("bind: {e}"))?;
    launch.dispatch([size[0], size[1], size[2]]).map_err(|e| format!("dispatch: {e}"))?;
    for (i, (b, given)) in bound.iter().zip(case["args"].as_array().unwrap()).enumerate() {
        let kind = given["type"].as_str().unwrap();
        let wanted = &case["expect"][i.to_string()];
        let tolerance = wanted["tolerance"].as_f64().unwrap_or(0.0);
        let data = if wanted.is_null() { &given["data"] } else { &wanted["data"] };
        let (got, s) = match b {
            Bound::Value(_) => continue,
            Bound::Buffer(b, form) => {
                (form.numbers(&b.to_vec(), numbers(data, kind).len()), form.scalar)
            }
            Bound::Image(image, s, channels) => (texels(image, *s, *channels), *s),
        };
        compare(&numbers(data, kind), &got, s, tolerance)
            .map_err(|e| format!("argument {i} ({}): {e}", given["name"]))?;
    }
    Ok(())
}

fn texels(image: &Image, s: Scalar, channels: usize) -> Vec<u64> {
    match s {
        Scalar::F32 => {
            image.download::<f32>(channels).into_iter().map(|v| v.to_bits().into()).collect()
        }
        _ => image.download::<u32>(channels).into_iter().map(u64::from).collect(),
    }
}

fn bind(device: &Device, types: &TypeTable, ty: TypeId, given: &Value) -> Result<Bound, String> {
    let kind = given["type"].as_str().unwrap();
    match given["kind"].as_str().unwrap() {
        "uniform" => {
            let form = Form::of(types, ty, kind.trim_end_matches(['2', '3', '4']));
            let value = &given["value"];
            let list = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            let numbers: Vec<_> = list.iter().map(|v| Some(bits(v, form.scalar))).collect();
            let mut bytes = form.bytes(&numbers);
            bytes.resize(types.size(ty) as usize, 0);
            Ok(Bound::Value(bytes))
        }
        "buffer" => {
            let TypeKind::Buffer { elem, .. } = types.kind(ty) else {
                return Err("not a buffer".to_string());
            };
            let form = Form::of(types, *elem, kind);
            let bytes = form.bytes(&numbers(&given["data"], kind));
            Ok(Bound::Buffer(device.buffer_from(&bytes).map_err(|e| e.to_string())?, form))
        }
        _ => {
            let size = |key: &str| given[key].as_u64().map(|n| n as u32);
            let (w, h) = (size("width").unwrap(), size("height").unwrap());
            let channels = size("channels").unwrap() as usize;
            let s = scalar(kind);
            let storage = match (s, channels) {
                (Scalar::F32, 1) => PixelStorage::Float1,
                (Scalar::F32, 2) => PixelStorage::Float2,
                (Scalar::F32, _) => PixelStorage::Float4,
                (Scalar::U8, 1) => PixelStorage::Byte1,
                (Scalar::U8, 2) => PixelStorage::Byte2,
                (Scalar::U8, _) => PixelStorage::Byte4,
                (_, 1) => PixelStorage::Int1,
                (_, 2) => PixelStorage::Int2,
                _ => PixelStorage::Int4,
            };
            let image = match size("depth") {
                Some(d) => device.image_3d(storage, [w, h, d]),
                None => device.image_2d(storage, [w, h]),
            }
            .map_err(|e| e.to_string())?;
            let data: Vec<u32> =
                numbers(&given["data"], kind).iter().map(|n| n.unwrap_or(0) as u32).collect();
            let done = if s == Scalar::F32 {
                let data: Vec<f32> = data.iter().map(|&b| f32::from_bits(b)).collect();
                image.upload(&data, channels)
            } else {
                image.upload(&data, channels)
            };
            done.map_err(|e| e.to_string())?;
            Ok(Bound::Image(image, s, channels))
        }
    }
}
