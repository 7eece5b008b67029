//! Objects from the system's C compiler, and metadata for them.
#![allow(dead_code)]

#[cfg(feature = "wgsl")]
pub mod shaders;

use std::{fs, path::PathBuf, process::Command};

use luisac_artifact::metadata::{
    Argument, ArgumentKind, BoundsMode, Format, FormatArgument, FormatKind, MathMode, Params,
    SCHEMA, Usage, VERSION,
};
use luisac_runtime::{
    Metadata,
    host::{Device, Kernel},
};

/// A folder of the test's own that goes away with it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("luisac-runtime-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles C to an object; nothing, with a line, if this machine has no C compiler for ELF.
pub fn compile(name: &str, source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let folder = Folder::new(name);
    let (c, o) = (folder.0.join("k.c"), folder.0.join("k.o"));
    fs::write(&c, source).unwrap();
    let done = Command::new("cc")
        .args(["-c", "-O2", "-fPIC", "-ffreestanding"])
        .args(flags)
        .arg(&c)
        .arg("-o")
        .arg(&o)
        .status();
    match done {
        Ok(status) if cfg!(target_os = "linux") => {
            assert!(status.success(), "the C compiler refused the test's source");
            Some(fs::read(&o).unwrap())
        }
        _ => {
            println!("skipped: no C compiler for ELF objects here");
            None
        }
    }
}

/// The object of `c/kernels.c`. Vector loops would call `memcpy` and the like on some compilers.
pub fn kernels(name: &str) -> Option<Vec<u8>> {
    compile(
        name,
        include_str!("../c/kernels.c"),
        &["-fno-tree-loop-distribute-patterns", "-fno-stack-protector"],
    )
}

pub fn argument(kind: ArgumentKind, ty: &str, element_size: u64, element_align: u64) -> Argument {
    let size = if kind == ArgumentKind::Value { element_size as u32 } else { 16 };
    Argument {
        name: None,
        kind,
        ty: ty.into(),
        element_size,
        element_align,
        usage: Usage::ReadWrite,
        sampled: false,
        captured: false,
        binding: None,
        offset: 0,
        slots: Vec::new(),
        size,
    }
}

pub fn metadata(
    entry: &str,
    block_size: [u32; 3],
    mut arguments: Vec<Argument>,
    formats: Vec<Format>,
) -> Metadata {
    let log = !formats.is_empty();
    let layout =
        luisac_artifact::ParamLayout::of(arguments.iter().map(Argument::shape), log).unwrap();
    for (a, offset) in arguments.iter_mut().zip(&layout.offsets) {
        a.offset = *offset;
    }
    Metadata {
        schema: SCHEMA.into(),
        version: VERSION,
        kernel: entry.into(),
        entry: entry.into(),
        target: format!("cpu:{}", std::env::consts::ARCH.replace('_', "-")),
        block_size,
        arguments,
        params: Params { size: layout.size, dispatch: layout.dispatch, log: layout.log },
        shared_bytes: 0,
        scratch_bytes: 0,
        formats,
        features: vec![],
        wave_lanes: None,
        math: MathMode::Fast,
        bounds: BoundsMode::Off,
        bindings: None,
        ptx: None,
        dxil: None,
        compiler: "test".into(),
        input_hash: "0".repeat(64),
        options_hash: "0".repeat(64),
    }
}

/// The kernels of `ptx/kernels.ptx`.
pub const PTX: &str = include_str!("../ptx/kernels.ptx");

/// Metadata of one of them.
pub fn ptx_metadata(entry: &str, block_size: [u32; 3], arguments: Vec<Argument>) -> Metadata {
    let version = "7.0".to_string();
    Metadata {
        target: "ptx:sm_70".into(),
        ptx: Some(luisac_artifact::metadata::Ptx { sm: 70, version }),
        ..metadata(entry, block_size, arguments, vec![])
    }
}

/// The records of the kernel `talks`.
pub fn talker_formats() -> Vec<Format> {
    let value = |ty: &str, offset| FormatArgument { ty: ty.into(), offset };
    let format = |kind, text: &str, arguments, record_size| Format {
        kind,
        text: text.into(),
        arguments,
        record_size,
    };
    let printed = vec![value("uint", 0), value("vector<float,2>", 8)];
    vec![
        format(FormatKind::Print, "{}: {}", printed, 24),
        format(FormatKind::Assert, "not two", vec![], 24),
        format(FormatKind::Trap, "", vec![], 32),
    ]
}

pub fn load(device: &Device, object: &[u8], metadata: Metadata) -> Kernel {
    // SAFETY: the object is the C compiler's, from a source whose kernels follow the metadata.
    unsafe { device.load(object, metadata) }.unwrap()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}
