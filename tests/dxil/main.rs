//! DXIL, run on a Vulkan device: `tools/dxil-to-spirv` turns it into SPIR-V, and the recorded kernels with exact results must come
//! out right.
//!
//! Needs DXC, the tool (`LUISAC_DXIL_TO_SPIRV` names it; `cargo xtask setup dxil` builds it), and a Vulkan device; without one of
//! them the tests say that they are skipped.

#[path = "../common/mod.rs"]
mod common;

use common::case::{Case, Wrong};
use common::raw::{Compiled, Raw, Refusal};
use common::{Folder, all_right, corpus, files, fixture, head, in_parallel};
use luisac_artifact::Metadata;
use luisac_artifact::bindings::{Slot, SlotKind};
use luisac_runtime::RuntimeError;
use luisac_runtime::vulkan::{Arg, Buffer, Device, Image};
use std::path::PathBuf;
use std::process::Command;

/// What the tests need.
struct Tools {
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
        match Device::open() {
            Ok(device) => Some(Tools { converter, device }),
            Err(e) => {
                println!("skipped: {e}");
                None
            }
        }
    }

    /// Runs a case; whether it ran, since a kernel may use what the target refuses or the device lacks.
    fn run(&self, case: &Case, level: &str) -> Result<Ran, Wrong> {
        let folder = Folder::new();
        let compiled = match case.compile(&folder, "dxil", level) {
            Ok(compiled) => compiled,
            Err(Refusal::Unsupported(why)) => return Ok(Ran::Refused(why)),
            Err(Refusal::Wrong(why)) => return Err(why.into()),
        };
        let spirv = folder.path().join("kernel.spv");
        let done = Command::new(&self.converter).arg(&compiled.code).arg(&spirv).output();
        let done = done.map_err(|e| format!("{}: {e}", self.converter.display()))?;
        if !done.status.success() {
            return Err(head(&String::from_utf8_lossy(&done.stderr)).into());
        }
        let code = std::fs::read(spirv).map_err(|e| e.to_string())?;
        match self.launch(&compiled, &code) {
            Ok(results) => case.compare_raw(&compiled, &results).map(|()| Ran::Yes),
            Err(e) if e.to_string().contains("lacks") => Ok(Ran::Refused(e.to_string())),
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
            })
            .collect();
        kernel.bind(&arguments)?.dispatch(compiled.dispatch)?;
        let back = compiled.arguments.iter().zip(&resources).map(|(raw, resource)| {
            match (raw, resource) {
                (Raw::Buffer(_), Resource::Buffer(buffer)) => buffer.to_vec().map(Raw::Buffer),
                (Raw::Image { storage, size, is_3d, .. }, Resource::Image(image)) => {
                    let (storage, size, is_3d) = (*storage, *size, *is_3d);
                    image.to_vec(0).map(|texels| Raw::Image { storage, size, is_3d, texels })
                }
                _ => Ok(raw.clone()),
            }
        });
        back.collect()
    }

    fn upload(&self, raw: &Raw) -> Result<Resource, RuntimeError> {
        Ok(match raw {
            Raw::Value(bytes) => Resource::Value(bytes.clone()),
            Raw::Buffer(bytes) => Resource::Buffer(self.device.buffer_from(bytes)?),
            Raw::Image { storage, size, texels, is_3d } => {
                let image = match is_3d {
                    true => self.device.image_3d(*storage, *size, 1)?,
                    false => self.device.image_2d(*storage, [size[0], size[1]], 1)?,
                };
                image.upload(0, texels)?;
                Resource::Image(image)
            }
        })
    }
}

/// What became of a case.
enum Ran {
    Yes,
    Refused(String),
}

enum Resource {
    Value(Vec<u8>),
    Buffer(Buffer),
    Image(Image),
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

#[track_caller]
fn exam(level: &str) {
    let Some(tools) = Tools::find() else { return };
    let only = std::env::var("LUISAC_CASE").ok();
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases = files(&path, ".expect.json").into_iter().map(|p| Case::read(&p));
        let cases: Vec<Case> = cases
            .filter(|case| !case.is_error() && only.as_ref().is_none_or(|name| *name == case.name))
            .collect();
        let results = in_parallel(&cases, |case| tools.run(case, level));
        let ran = results.iter().filter(|r| matches!(r, Ok(Ran::Yes))).count();
        println!("{folder} {level}: {ran} of {} ran", cases.len());
        for (case, result) in cases.iter().zip(&results) {
            if let Ok(Ran::Refused(why)) = result {
                println!("  {}: {why}", case.name);
            }
        }
        let wrong = cases.iter().zip(results).filter_map(|(case, result)| {
            result.err().map(|e| format!("{folder}/{} {level}: {e}", case.name))
        });
        all_right(wrong.collect());
        assert!(
            only.is_some() || ran * 10 >= cases.len() * 9,
            "most kernels of {folder} are refused"
        );
    }
}

#[test]
fn unoptimised() {
    exam("-O0");
}

#[test]
fn optimised() {
    exam("-O3");
}
