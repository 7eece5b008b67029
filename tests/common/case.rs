//! Recorded kernels with exact results: `NAME.json` and `NAME.expect.json` beside it, run through `luisac run`.

use super::npy::Array;
use super::{Folder, Outcome, head, luisac};
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};

/// NumPy's name of a scalar type of the cases.
fn element(kind: &str) -> &'static str {
    match kind {
        "byte" => "i1",
        "bool" | "ubyte" | "bytes" => "u1",
        "short" => "i2",
        "ushort" => "u2",
        "int" => "i4",
        "uint" => "u4",
        "long" => "i8",
        "ulong" => "u8",
        "half" => "f2",
        "float" => "f4",
        "double" => "f8",
        _ => panic!("no scalar type `{kind}`"),
    }
}

/// Bytes of a scalar of the cases.
pub fn width(kind: &str) -> usize {
    element(kind)[1..].parse().expect("a width")
}

fn to_f64(kind: &str, bits: u64) -> f64 {
    match kind {
        "half" => half::f16::from_bits(bits as u16).to_f64(),
        "float" => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

fn of_f64(kind: &str, x: f64) -> u64 {
    match kind {
        "half" => half::f16::from_f64(x).to_bits().into(),
        "float" => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

/// The bits of one number: a bit pattern, a decimal, or a number.
fn bits(kind: &str, value: &Value) -> u64 {
    let is_float = element(kind).starts_with('f');
    let mask = u64::MAX >> (64 - 8 * width(kind));
    match value {
        Value::String(text) => match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).expect("a bit pattern"),
            None => text.parse::<i128>().expect("an integer") as u64 & mask,
        },
        Value::Bool(b) => u64::from(*b),
        Value::Number(n) if is_float => of_f64(kind, n.as_f64().expect("a number")),
        Value::Number(n) => {
            n.as_i64().map_or_else(|| n.as_u64().expect("an integer"), |i| i as u64) & mask
        }
        _ => panic!("no number: {value}"),
    }
}

/// The data of an argument; nothing where a number may be anything.
pub fn numbers(kind: &str, data: &Value) -> Vec<Option<u64>> {
    if kind == "bytes" {
        let text = data.as_str().expect("hexadecimal digits");
        return (0..text.len() / 2)
            .map(|i| u64::from_str_radix(&text[2 * i..2 * i + 2], 16).ok())
            .collect();
    }
    let data = data.as_array().expect("a list");
    data.iter().map(|v| (!v.is_null()).then(|| bits(kind, v))).collect()
}

fn same(kind: &str, want: u64, got: u64, tolerance: f64) -> bool {
    if want == got || !element(kind).starts_with('f') {
        return want == got;
    }
    let (want, got) = (to_f64(kind, want), to_f64(kind, got));
    (want.is_nan() && got.is_nan())
        || (tolerance > 0.0 && (want - got).abs() <= tolerance * want.abs())
}

/// Writes the data of a buffer or image; gives the text of `--arg` for it. Each level of an image is a file.
fn data_files(folder: &Folder, name: &str, arg: &Value) -> String {
    let kind = arg["type"].as_str().expect("a type");
    let bits: Vec<u64> =
        numbers(kind, &arg["data"]).into_iter().map(Option::unwrap_or_default).collect();
    let write = |name: String, shape: Vec<usize>, bits: Vec<u64>| {
        let array = Array::new(element(kind), shape, bits);
        folder.write(&name, array.to_bytes()).display().to_string()
    };
    if arg["width"].is_null() {
        return write(format!("{name}.npy"), vec![bits.len()], bits);
    }
    let (mut rest, mut files) = (bits.as_slice(), Vec::new());
    for level in 0..arg["levels"].as_u64().unwrap_or(1) {
        let axes = ["depth", "height", "width", "channels"];
        let axes = axes.iter().filter_map(|a| Some((a, arg[a].as_u64()? as usize)));
        let shape: Vec<usize> =
            axes.map(|(a, n)| if *a == "channels" { n } else { (n >> level).max(1) }).collect();
        let (mine, others) = rest.split_at(shape.iter().product());
        rest = others;
        files.push(write(format!("{name}.{level}.npy"), shape, mine.to_vec()));
    }
    files.join("+")
}

/// The parts of `bindless:..` for the slots of an argument.
fn parts(folder: &Folder, index: usize, slots: &[Value]) -> String {
    const FILTERS: [&str; 4] = ["point", "linear_point", "linear_linear", "anisotropic"];
    const ADDRESSES: [&str; 4] = ["edge", "repeat", "mirror", "zero"];
    let mut text = String::new();
    for (k, slot) in slots.iter().enumerate() {
        for what in ["buffer", "image2d", "image3d"] {
            let held = &slot[what];
            if held.is_null() {
                continue;
            }
            let files = data_files(folder, &format!("{index}.{k}.{what}"), held);
            let code = |i: usize| held["sampler"][i].as_u64().unwrap_or_default() as usize;
            let sampler = match what {
                "buffer" => String::new(),
                _ => format!("{}.{}:", FILTERS[code(0)], ADDRESSES[code(1)]),
            };
            text += &format!(",{k}={what}:{sampler}{files}");
        }
    }
    text
}

/// What is wrong with a run.
#[derive(Debug)]
pub enum Wrong {
    /// It did not end as it should.
    Run(String),
    /// Numbers that came back.
    Numbers { argument: usize, differ: usize, count: usize, first: usize, want: u64, got: u64 },
}

impl From<String> for Wrong {
    fn from(text: String) -> Wrong {
        Wrong::Run(text)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Run(text) => f.write_str(text),
            Wrong::Numbers { argument, differ, count, first, want, got } => write!(
                f,
                "argument {argument}: {differ} of {count} differ, first [{first}]: {got:#x}, wanted {want:#x}"
            ),
        }
    }
}

/// One `NAME.json` with its `NAME.expect.json`.
#[derive(Clone)]
pub struct Case {
    pub(super) kernel: PathBuf,
    pub name: String,
    pub(super) recorded: Value,
}

impl Case {
    /// A kernel with its case.
    pub fn new(kernel: PathBuf, name: String, recorded: Value) -> Case {
        Case { kernel, name, recorded }
    }

    /// The case of a `NAME.expect.json`.
    pub fn read(expect: &Path) -> Case {
        let text = std::fs::read_to_string(expect).expect("the file is there");
        let name =
            expect.file_name().expect("a name").to_string_lossy().replace(".expect.json", "");
        let recorded = serde_json::from_str(&text).expect("JSON");
        Case { kernel: expect.with_file_name(format!("{name}.json")), name, recorded }
    }

    /// The case for devices of graphics APIs, which leave the scheme of anisotropic filtering to the implementation: samples by gradients
    /// with such a sampler may be anything. All other results stay as they are.
    pub fn without_anisotropy(mut self) -> Case {
        // 24 points by 16 samplers; of each the sample at the first level, at a level, by gradients, by gradients with a least level.
        let is_open: fn(usize) -> bool = match &*self.name {
            "image_samplers" | "volume_samplers" => |i| i / 96 / 4 == 3 && i % 4 >= 2,
            // Two images with the sampler of the slot, then both with the filters counted from behind.
            "bindless_samplers" => |i| {
                let (filter, part) = (i / 384 / 4, i / 4 % 4);
                i % 4 >= 2 && filter == if part < 2 { 3 } else { 0 }
            },
            _ => return self,
        };
        let data = self.recorded["expect"]["2"]["data"].as_array_mut().expect("results");
        data.iter_mut()
            .enumerate()
            .filter(|(i, _)| is_open(*i))
            .for_each(|(_, v)| *v = Value::Null);
        self
    }

    pub(super) fn args(&self) -> &[Value] {
        self.recorded["args"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether it is to be refused.
    pub fn is_error(&self) -> bool {
        self.recorded["expect"]["error"] == true
    }

    /// Arguments of `luisac run`; inputs are written into the folder.
    fn command_line(&self, folder: &Folder, device: &str, level: &str) -> Vec<String> {
        let list = |v: &Value| {
            v.as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>()
        };
        let kernel = self.kernel.display().to_string();
        let dispatch = list(&self.recorded["dispatch"]).join(",");
        // `vulkan:wgsl` is the device and the target.
        let (device, target) = device.split_once(':').unwrap_or((device, ""));
        let mut line: Vec<String> =
            ["run", &kernel, "--device", device, level, "--dispatch", &dispatch]
                .map(str::to_owned)
                .into();
        if !target.is_empty() {
            line.extend(["--target".into(), target.into()]);
        }
        for (i, arg) in self.args().iter().enumerate() {
            line.push("--arg".into());
            if arg["kind"] == "bindless" {
                let slots = arg["slots"].as_array().expect("slots");
                line.push(format!("{i}=bindless:slots={}{}", slots.len(), parts(folder, i, slots)));
                for (k, _) in
                    slots.iter().enumerate().filter(|(_, slot)| slot["buffer"].is_object())
                {
                    line.extend(["--out".into(), format!("{i}.{k}=out{i}.{k}.npy")]);
                }
                continue;
            }
            if arg["kind"] == "uniform" {
                let values =
                    arg["value"].as_array().cloned().unwrap_or_else(|| vec![arg["value"].clone()]);
                let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
                line.push(format!("{i}={}", values.iter().map(text).collect::<Vec<_>>().join(",")));
                continue;
            }
            line.push(format!("{i}={}", data_files(folder, &i.to_string(), arg)));
            // An image with levels is only read.
            if !self.is_error() && arg["levels"].is_null() {
                line.extend(["--out".into(), format!("{i}=out{i}.npy")]);
            }
        }
        line.extend(self.flags());
        line
    }

    /// Further flags, of compiling.
    pub(super) fn flags(&self) -> Vec<String> {
        let flags = self.recorded["flags"].as_array();
        flags.into_iter().flatten().filter_map(|f| f.as_str().map(str::to_owned)).collect()
    }

    /// Runs it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(&self, device: &str, level: &str) -> Result<(), Wrong> {
        let folder = Folder::new();
        let outcome = luisac(folder.path(), self.command_line(&folder, device, level));
        if self.is_error() {
            return Ok(self.refused(&outcome)?);
        }
        match outcome.code {
            Some(0) => {}
            Some(1) if self.recorded["may_error"] == true => return Ok(outcome.refusal()?),
            code => {
                return Err(format!("exit code {code:?}: {}", head(&outcome.stderr)).into());
            }
        }
        for (i, arg) in self.args().iter().enumerate() {
            if arg["kind"] == "bindless" {
                for (k, slot) in arg["slots"].as_array().into_iter().flatten().enumerate() {
                    if slot["buffer"].is_object() {
                        let file = folder.read(&format!("out{i}.{k}.npy"));
                        self.compare(i, &format!("{i}.{k}"), &slot["buffer"], &file)?;
                    }
                }
            } else if arg["kind"] != "uniform" && arg["levels"].is_null() {
                let file = folder.read(&format!("out{i}.npy"));
                self.compare(i, &i.to_string(), arg, &file)?;
            }
        }
        Ok(())
    }

    fn refused(&self, outcome: &Outcome) -> Result<(), String> {
        outcome.refusal()?;
        let words = self.recorded["expect"]["stderr"].as_array();
        let words: Vec<&str> = match words {
            Some(words) => words.iter().filter_map(Value::as_str).collect(),
            None => vec![&self.name],
        };
        match words.iter().find(|w| !outcome.stderr.contains(**w)) {
            None => Ok(()),
            Some(word) => {
                Err(format!("the diagnostic does not mention `{word}`: {}", head(&outcome.stderr)))
            }
        }
    }

    /// Compares a file with what is expected by this key.
    fn compare(&self, index: usize, key: &str, arg: &Value, file: &[u8]) -> Result<(), Wrong> {
        let kind = arg["type"].as_str().unwrap_or_default();
        let got = Array::from_bytes(file)?;
        let bool_as_byte = kind == "bool" && got.element == "b1";
        if got.element != element(kind) && !bool_as_byte {
            return Err(format!("argument {index} comes back as {}", got.element).into());
        }
        self.compare_with(&self.recorded["expect"][key], index, arg, &got.bits)
    }

    /// Compares the numbers of an argument with what is expected by a key: its position, or position and slot.
    pub(super) fn compare_numbers(
        &self,
        (index, key): (usize, &str),
        arg: &Value,
        got: &[u64],
    ) -> Result<(), Wrong> {
        self.compare_with(&self.recorded["expect"][key], index, arg, got)
    }

    fn compare_with(
        &self,
        expected: &Value,
        index: usize,
        arg: &Value,
        got: &[u64],
    ) -> Result<(), Wrong> {
        let kind = arg["type"].as_str().unwrap_or_default();
        let (data, tolerance) = if expected.is_null() {
            (&arg["data"], 0.0)
        } else {
            (&expected["data"], expected["tolerance"].as_f64().unwrap_or(0.0))
        };
        let want = numbers(kind, data);
        if got.len() != want.len() {
            return Err(format!("argument {index} comes back as {} numbers", got.len()).into());
        }
        let differs =
            |(w, g): (&Option<u64>, &u64)| w.is_some_and(|w| !same(kind, w, *g, tolerance));
        let wrong: Vec<usize> =
            want.iter().zip(got).enumerate().filter(|(_, p)| differs(*p)).map(|(i, _)| i).collect();
        let Some(&first) = wrong.first() else { return Ok(()) };
        Err(Wrong::Numbers {
            argument: index,
            differ: wrong.len(),
            count: want.len(),
            first,
            want: want[first].unwrap_or_default(),
            got: got[first],
        })
    }
}
