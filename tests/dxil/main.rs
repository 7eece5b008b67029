//! DXIL, run on a Vulkan device: `tools/dxil-to-spirv` turns it into SPIR-V, and the recorded kernels with exact results must come
//! out right.
//!
//! Needs DXC, the tool (`LUISAC_DXIL_TO_SPIRV` names it; `cargo xtask setup dxil` builds it), and a Vulkan device; without one of
//! them the tests say that they are skipped.

#[path = "../common/mod.rs"]
mod common;

use common::case::{Case, Wrong};
use common::exam::Ran;
use common::raw::{Compiled, Raw, RawImage, RawSlot, Refusal};
use common::{Folder, all_right, corpus, dxc, files, fixture, head, in_parallel, luisac};
use luisac_artifact::Metadata;
use luisac_artifact::bindings::{Slot, SlotKind};
use luisac_runtime::vulkan::{Arg, BindlessArray, Buffer, Device, Image};
use luisac_runtime::{RuntimeError, Sampler};
use std::path::PathBuf;
use std::process::Command;

/// Bytes of stack for a driver.
const STACK: usize = 1 << 30;

/// What the software device of Mesa does not hold, or what it computes otherwise than Direct3D says.
const NOT_HERE: [(&str, &str); 8] = [
    ("big_constant", "the driver does not end in 20 s for a table of 16384 words"),
    ("call_chain_250", "it nests 250 statements, and the driver crashes"),
    ("cast_long_to_float", "the driver leaves the rounding to float out before double"),
    ("cast_ulong_to_float", "the driver leaves the rounding to float out before double"),
    ("double_to_half_once", "the driver truncates to half"),
    ("endless_loops", "the validator of DXIL refuses loops without a break"),
    ("float_to_half", "the driver truncates to half and flushes its subnormals"),
    ("long_else_if_chain", "it nests 500 statements, and the driver does not end in 20 s"),
];

/// What the tests need.
struct Tools {
    dxc: String,
    converter: PathBuf,
    device: Device,
}

impl Tools {
    /// All of it, or nothing, said in one line.
    fn find() -> Option<Tools> {
        let converter = std::env::var_os("LUISAC_DXIL_TO_SPIRV").map(PathBuf::from);
        let Some(converter) = converter.filter(|p| p.is_file()) else {
            println!("skipped: no dxil-to-spirv; `cargo xtask setup dxil` builds it");
            return None;
        };
        let dxc = dxc()?.display().to_string();
        match Device::open() {
            Ok(device) => Some(Tools { dxc, converter, device }),
            Err(e) => {
                println!("skipped: {e}");
                None
            }
        }
    }

    fn run(&self, case: &Case, level: &str) -> Result<Ran, Wrong> {
        if let Some((_, why)) = NOT_HERE.iter().find(|(name, _)| *name == case.name) {
            return Ok(Ran::Not((*why).into()));
        }
        let folder = Folder::new();
        let compiled = match case.compile(&folder, "dxil", &[level, "--dxc", &self.dxc]) {
            Ok(compiled) => compiled,
            Err(Refusal::Unsupported(why)) => return Ok(Ran::Not(why)),
            Err(Refusal::Wrong(why)) => return Err(why.into()),
        };
        let spirv = folder.path().join("kernel.spv");
        let done = Command::new(&self.converter).arg(&compiled.code).arg(&spirv).output();
        let done = done.map_err(|e| format!("{}: {e}", self.converter.display()))?;
        if !done.status.success() {
            return Err(head(&String::from_utf8_lossy(&done.stderr)).into());
        }
        let code = std::fs::read(spirv).map_err(|e| e.to_string())?;
        // Drivers recurse on nested statements, and some cases are deep.
        let launched = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || self.launch(&compiled, &code));
            thread.map_err(|e| e.to_string())?.join().map_err(|_| "a panic".to_owned())
        })?;
        match launched {
            Ok(results) => case.compare_raw(&compiled, &results).map(|()| Ran::Yes),
            Err(e) if e.to_string().contains("which the device") => Ok(Ran::Not(e.to_string())),
            Err(e) => Err(e.to_string().into()),
        }
    }

    fn launch(&self, compiled: &Compiled, code: &[u8]) -> Result<Vec<Raw>, RuntimeError> {
        // SAFETY: the code is what the compiler wrote for this metadata, in another form.
        let kernel = unsafe { self.device.load(code, as_spirv(&compiled.metadata)) }?;
        let resources: Result<Vec<Resource>, RuntimeError> =
            compiled.arguments.iter().map(|raw| self.upload(raw)).collect();
        let resources = resources?;
        let arguments: Vec<Arg> = resources
            .iter()
            .map(|r| match r {
                Resource::Value(bytes) => Arg::Value(bytes),
                Resource::Buffer(buffer) => Arg::Buffer(buffer),
                Resource::Image(image) => Arg::Image(image),
                Resource::Array(array, _) => Arg::BindlessArray(array),
            })
            .collect();
        kernel.bind(&arguments)?.dispatch(compiled.dispatch)?;
        compiled.arguments.iter().zip(&resources).map(|(raw, r)| download(raw, r)).collect()
    }

    fn upload(&self, raw: &Raw) -> Result<Resource, RuntimeError> {
        Ok(match raw {
            Raw::Value(bytes) => Resource::Value(bytes.clone()),
            Raw::Buffer(bytes) => Resource::Buffer(self.device.buffer_from(bytes)?),
            Raw::Image(image) => Resource::Image(self.image(image)?),
            Raw::Bindless(slots) => self.array(slots)?,
        })
    }

    fn image(&self, raw: &RawImage) -> Result<Image, RuntimeError> {
        let RawImage { storage, size, levels, .. } = *raw;
        let image = match raw.is_3d {
            true => self.device.image_3d(storage, size, levels)?,
            false => self.device.image_2d(storage, [size[0], size[1]], levels)?,
        };
        raw.level_texels().try_for_each(|(level, texels)| image.upload(level, texels))?;
        Ok(image)
    }

    fn array(&self, slots: &[RawSlot]) -> Result<Resource, RuntimeError> {
        let array = self.device.bindless_array(slots.len() as u32)?;
        let mut buffers = Vec::new();
        for (number, slot) in (0..).zip(slots) {
            let buffer = slot.buffer.as_ref().map(|b| self.device.buffer_from(b)).transpose()?;
            if let Some(buffer) = &buffer {
                array.set_buffer(number, Some((buffer, 0)))?;
            }
            buffers.push(buffer);
            for (held, dimension) in slot.images.iter().zip([2, 3]) {
                let Some((raw, sampler)) = held else { continue };
                let sampler = Sampler::from_code(*sampler).unwrap_or_default();
                array.set_image(number, dimension, Some((&self.image(raw)?, sampler)))?;
            }
        }
        Ok(Resource::Array(array, buffers))
    }
}

/// What an argument holds after a run.
fn download(raw: &Raw, resource: &Resource) -> Result<Raw, RuntimeError> {
    match (raw, resource) {
        (Raw::Buffer(_), Resource::Buffer(buffer)) => buffer.to_vec().map(Raw::Buffer),
        (Raw::Image(raw), Resource::Image(image)) => {
            let levels: Result<Vec<_>, _> = (0..raw.levels).map(|l| image.to_vec(l)).collect();
            Ok(Raw::Image(RawImage { texels: levels?.concat(), ..raw.clone() }))
        }
        (Raw::Bindless(slots), Resource::Array(_, buffers)) => {
            let mut slots = slots.clone();
            for (slot, buffer) in slots.iter_mut().zip(buffers) {
                slot.buffer = buffer.as_ref().map(Buffer::to_vec).transpose()?;
            }
            Ok(Raw::Bindless(slots))
        }
        _ => Ok(raw.clone()),
    }
}

enum Resource {
    Value(Vec<u8>),
    Buffer(Buffer),
    Image(Image),
    /// With the buffers of its slots, to be read again.
    Array(BindlessArray, Vec<Option<Buffer>>),
}

/// The metadata of the converted kernel: registers are bindings by the tool's rule, and the entry has the tool's name.
fn as_spirv(metadata: &Metadata) -> Metadata {
    let mut metadata = metadata.clone();
    metadata.target = "spirv:1.3".into();
    metadata.entry = "main".into();
    metadata.dxil = None;
    let moved = |slot: &mut Slot| {
        if slot.set == 0 {
            slot.index = match slot.kind {
                SlotKind::UniformBuffer | SlotKind::Sampler => slot.index,
                SlotKind::StorageBuffer | SlotKind::StorageImage => 2 + 2 * slot.index,
                _ => 1 + 2 * slot.index,
            };
        }
    };
    metadata.arguments.iter_mut().flat_map(|a| &mut a.slots).for_each(moved);
    if let Some(bindings) = &mut metadata.bindings {
        bindings.log.iter_mut().for_each(moved);
    }
    metadata
}

/// All cases on a level of optimisation.
#[track_caller]
fn exam(level: &str) {
    let Some(tools) = Tools::find() else { return };
    common::exam::exam(&format!("dxil {level}"), |case| {
        tools.run(&case.clone().without_anisotropy(), level)
    });
}

#[test]
fn unoptimised() {
    exam("-O0");
}

#[test]
fn optimised() {
    exam("-O3");
}

/// DXC and its validator accept every recorded kernel that HLSL holds.
#[test]
fn recorded_kernels_are_accepted() {
    let Some(dxc) = dxc() else { return };
    let inputs = ["own", "luisa", "bugs"].into_iter().filter_map(corpus);
    let inputs: Vec<PathBuf> = inputs
        .chain([fixture("")])
        .flat_map(|folder| files(&folder, ".json"))
        .filter(|p| !p.to_string_lossy().ends_with(".expect.json"))
        .collect();
    let folder = Folder::new();
    let one = |(i, input): &(usize, PathBuf)| {
        let out = folder.path().join(format!("{i}.dxil"));
        let mut line = vec!["compile".into(), input.clone().into_os_string()];
        line.extend(["--target", "dxil", "-q", "--dxc"].map(Into::into));
        line.extend([dxc.clone().into(), "-o".into(), out.clone().into_os_string()]);
        let outcome = luisac(folder.path(), line);
        let refusals = ["L0900", "L0901", "L0912", "L1202"];
        match outcome.code {
            Some(0) => signed(&std::fs::read(out).map_err(|e| e.to_string())?).map(|()| true),
            Some(1) if input.ends_with("endless_loops.json") && outcome.codes() == ["L0932"] => {
                Ok(false)
            }
            // The input itself is wrong, or holds what the target does not.
            Some(1) if outcome.codes().iter().all(|c| *c < "L0900" || refusals.contains(c)) => {
                Ok(false)
            }
            code => Err(format!("exit code {code:?}: {}", head(&outcome.stderr))),
        }
    };
    let inputs: Vec<(usize, PathBuf)> = inputs.into_iter().enumerate().collect();
    let results = in_parallel(&inputs, one);
    let accepted = results.iter().filter(|r| matches!(r, Ok(true))).count();
    println!("{accepted} of {} are DXIL", results.len());
    let wrong = inputs.iter().zip(results);
    all_right(
        wrong.filter_map(|((_, p), r)| r.err().map(|e| format!("{}: {e}", p.display()))).collect(),
    );
}

fn signed(container: &[u8]) -> Result<(), String> {
    match container.get(..20) {
        Some(head) if head.starts_with(b"DXBC") && head[4..] != [0; 16] => Ok(()),
        _ => Err("the container is not signed".into()),
    }
}

/// Without DXC the exit code says that a tool is missing, and the message how to get it; the text alone needs none.
#[test]
fn a_missing_compiler_is_told() {
    let folder = Folder::new();
    let kernel = fixture("for_steps.json").display().to_string();
    let line = ["compile", &kernel, "--target", "dxil", "--dxc", "/nowhere/libdxcompiler.so"];
    let outcome = luisac(folder.path(), line);
    assert_eq!((outcome.code, outcome.codes()), (Some(3), vec!["L0930"]), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("pip install"), "{}", outcome.stderr);
    assert_eq!(folder.names(), [""; 0]);
    luisac(folder.path(), ["compile", &kernel, "--target", "hlsl"]).ok();
}

/// `--emit hlsl` gives the text that DXC was given, and metadata says whose signature it is.
#[test]
fn the_text_comes_too() {
    let Some(dxc) = dxc().map(|p| p.display().to_string()) else { return };
    let folder = Folder::new();
    let kernel = fixture("for_steps.json").display().to_string();
    let emit = ["--target", "dxil", "--emit", "hlsl,artifact", "--dxc", &dxc];
    luisac(folder.path(), ["compile", &kernel].into_iter().chain(emit)).ok();
    assert_eq!(folder.names(), ["for_steps.dxil", "for_steps.dxil.hlsl", "for_steps.dxil.json"]);
    let text = String::from_utf8(folder.read("for_steps.dxil.hlsl")).expect("text");
    assert!(text.contains("[numthreads("), "{text}");
    let metadata = Metadata::from_json(&folder.read("for_steps.dxil.json")).expect("metadata");
    assert!(metadata.dxil.is_some() && metadata.target.starts_with("dxil:6."), "{metadata:?}");
    signed(&folder.read("for_steps.dxil")).expect("a signed container");
}
