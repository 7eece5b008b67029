//! Where a kernel finds its resources in an API that binds them by number: one scheme for each API, so that a host program
//! without our runtime can bind too. `docs/abi.md` says it in words.
//!
//! The parameter block ([`crate::abi`]) is the first binding of every API. Then come the resources of the arguments, captured ones
//! first, in order; then the log. Samplers and the heaps of bindless arrays have sets of their own. PTX and CPU objects
//! bind nothing: their parameter block holds addresses.

use serde::{Deserialize, Serialize};

use crate::metadata::{ArgumentKind, Usage};

/// The model of binding that an artifact follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// Descriptor sets and bindings; one count for all kinds of resource.
    Vulkan,
    /// Register spaces and registers; `t`, `u`, `b` and `s` count apart.
    D3d12,
    /// `[[buffer(n)]]` and `[[texture(n)]]`; no sets.
    Metal,
    /// Groups and bindings, as [`Api::Vulkan`]; each sampler is a binding.
    WebGpu,
}

/// What is bound at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// The parameter block.
    UniformBuffer,
    /// A buffer that is only read. Register `t` on D3D12.
    ReadOnlyBuffer,
    /// A buffer that may be written. Register `u` on D3D12.
    StorageBuffer,
    /// An image that is sampled or fetched. Register `t` on D3D12.
    SampledImage,
    /// An image that is written, and perhaps read. Register `u` on D3D12.
    StorageImage,
    /// The samplers: element or binding number `filter * 4 + address`.
    Sampler,
    /// An acceleration structure.
    AccelerationStructure,
}

/// A place where something is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// What.
    pub kind: SlotKind,
    /// Descriptor set, register space or group; 0 on Metal.
    pub set: u32,
    /// Binding, register, or Metal's index.
    pub index: u32,
    /// Number of descriptors; 0 says that the array has no end.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Where everything is that is not an argument's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bindings {
    /// The parameter block.
    pub params: Slot,
    /// The log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Slot>,
    /// The samplers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samplers: Vec<Slot>,
    /// Buffers of bindless arrays. Metal's bindless records hold addresses, so it has no heaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_heap: Option<Slot>,
    /// Two-dimensional images of bindless arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image2d_heap: Option<Slot>,
    /// Three-dimensional images of bindless arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image3d_heap: Option<Slot>,
}

/// An argument, as far as bindings go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArgumentUse {
    /// What it is.
    pub kind: ArgumentKind,
    /// What the kernel does with it. [`Usage::None`] is bound too, as read.
    pub usage: Usage,
    /// Whether an image is sampled.
    pub sampled: bool,
}

/// What a kernel uses beside its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extras {
    /// It prints, asserts or traps.
    pub log: bool,
    /// Bit `n` is set if sampler `n` is used; all bits if which one is known at run time only.
    pub samplers: u16,
    /// Usage of the buffers of bindless arrays, if any.
    pub bindless_buffers: Option<Usage>,
    /// It uses two-dimensional images of bindless arrays.
    pub bindless_images2d: bool,
    /// It uses three-dimensional images of bindless arrays.
    pub bindless_images3d: bool,
}

/// Number of samplers: four filters by four address modes.
pub const SAMPLERS: u32 = 16;

/// Set, space or group of the samplers.
pub const SAMPLER_SET: u32 = 1;
/// Set, space or group of the heap of buffers.
pub const BUFFER_HEAP_SET: u32 = 2;
/// Set, space or group of the heap of two-dimensional images.
pub const IMAGE2D_HEAP_SET: u32 = 3;
/// Set, space or group of the heap of three-dimensional images.
pub const IMAGE3D_HEAP_SET: u32 = 4;

/// The places of a kernel's arguments, each with none (a value), one or two (an image that is both written and sampled:
/// first [`SlotKind::StorageImage`], then [`SlotKind::SampledImage`]; an acceleration structure: itself, then its instances),
/// and of the rest.
#[must_use]
pub fn assign(api: Api, arguments: &[ArgumentUse], extras: Extras) -> (Vec<Vec<Slot>>, Bindings) {
    let mut next = Counters { api, next: [0; 4] };
    let params = next.slot(SlotKind::UniformBuffer);
    let places: Vec<Vec<Slot>> = arguments
        .iter()
        .map(|argument| kinds(*argument).into_iter().flatten().map(|k| next.slot(k)).collect())
        .collect();
    let log = extras.log.then(|| next.slot(SlotKind::StorageBuffer));
    let heap = |kind, set| (api != Api::Metal).then_some(Slot { kind, set, index: 0, count: 0 });
    let bindings = Bindings {
        params,
        log,
        samplers: samplers(api, extras.samplers),
        buffer_heap: extras.bindless_buffers.and_then(|usage| heap(buffer(usage), BUFFER_HEAP_SET)),
        image2d_heap: extras
            .bindless_images2d
            .then(|| heap(SlotKind::SampledImage, IMAGE2D_HEAP_SET))
            .flatten(),
        image3d_heap: extras
            .bindless_images3d
            .then(|| heap(SlotKind::SampledImage, IMAGE3D_HEAP_SET))
            .flatten(),
    };
    (places, bindings)
}

fn buffer(usage: Usage) -> SlotKind {
    if usage.writes() { SlotKind::StorageBuffer } else { SlotKind::ReadOnlyBuffer }
}

fn kinds(argument: ArgumentUse) -> [Option<SlotKind>; 2] {
    let usage = argument.usage;
    match argument.kind {
        ArgumentKind::Value => [None, None],
        ArgumentKind::Buffer => [Some(buffer(usage)), None],
        ArgumentKind::IndirectDispatch => [Some(SlotKind::StorageBuffer), None],
        ArgumentKind::BindlessArray => [Some(SlotKind::ReadOnlyBuffer), None],
        ArgumentKind::Image if usage.writes() => {
            [Some(SlotKind::StorageImage), argument.sampled.then_some(SlotKind::SampledImage)]
        }
        ArgumentKind::Image => [Some(SlotKind::SampledImage), None],
        ArgumentKind::Accel => [Some(SlotKind::AccelerationStructure), Some(buffer(usage))],
    }
}

/// Metal's samplers are constants of the kernel; D3D12 and Vulkan have one array of all.
fn samplers(api: Api, used: u16) -> Vec<Slot> {
    let slot = |index, count| Slot { kind: SlotKind::Sampler, set: SAMPLER_SET, index, count };
    match api {
        _ if used == 0 => Vec::new(),
        Api::Metal => Vec::new(),
        Api::Vulkan | Api::D3d12 => vec![slot(0, SAMPLERS)],
        Api::WebGpu => (0..SAMPLERS).filter(|i| used >> i & 1 != 0).map(|i| slot(i, 1)).collect(),
    }
}

/// The next free number of each class.
struct Counters {
    api: Api,
    next: [u32; 4],
}

impl Counters {
    fn slot(&mut self, kind: SlotKind) -> Slot {
        let class = match (self.api, kind) {
            (Api::Vulkan | Api::WebGpu, _) => 0,
            (Api::D3d12, SlotKind::UniformBuffer) => 0,
            (Api::D3d12, SlotKind::StorageBuffer | SlotKind::StorageImage) => 1,
            (Api::D3d12, _) => 2,
            (Api::Metal, SlotKind::SampledImage | SlotKind::StorageImage) => 3,
            (Api::Metal, _) => 0,
        };
        let index = self.next[class];
        self.next[class] += 1;
        Slot { kind, set: 0, index, count: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses() -> Vec<ArgumentUse> {
        let a = |kind, usage, sampled| ArgumentUse { kind, usage, sampled };
        vec![
            a(ArgumentKind::Buffer, Usage::Read, false),
            a(ArgumentKind::Value, Usage::Read, false),
            a(ArgumentKind::Image, Usage::ReadWrite, true),
            a(ArgumentKind::Buffer, Usage::Write, false),
            a(ArgumentKind::Image, Usage::Read, false),
            a(ArgumentKind::BindlessArray, Usage::Read, false),
        ]
    }

    fn places(api: Api, extras: Extras) -> (String, Bindings) {
        let (arguments, bindings) = assign(api, &uses(), extras);
        let text = |slots: &Vec<Slot>| {
            let one = |s: &Slot| format!("{:?}@{}.{}", s.kind, s.set, s.index);
            slots.iter().map(one).collect::<Vec<_>>().join("+")
        };
        (arguments.iter().map(text).collect::<Vec<_>>().join(" "), bindings)
    }

    #[test]
    fn vulkan_and_webgpu_count_all_kinds_together() {
        let extras = Extras { log: true, samplers: 0b1001, ..Extras::default() };
        let expected = "ReadOnlyBuffer@0.1  StorageImage@0.2+SampledImage@0.3 StorageBuffer@0.4 SampledImage@0.5 \
                        ReadOnlyBuffer@0.6";
        let (arguments, vulkan) = places(Api::Vulkan, extras);
        assert_eq!(arguments, expected);
        assert_eq!((vulkan.params.index, vulkan.log.map(|s| s.index)), (0, Some(7)));
        assert_eq!(vulkan.samplers.iter().map(|s| s.count).collect::<Vec<_>>(), [16]);
        let (arguments, web) = places(Api::WebGpu, extras);
        assert_eq!(arguments, expected);
        assert_eq!(web.samplers.iter().map(|s| s.index).collect::<Vec<_>>(), [0, 3]);
    }

    #[test]
    fn d3d12_counts_registers_by_class() {
        let extras = Extras { log: true, bindless_images2d: true, ..Extras::default() };
        let (arguments, rest) = places(Api::D3d12, extras);
        assert_eq!(
            arguments,
            "ReadOnlyBuffer@0.0  StorageImage@0.0+SampledImage@0.1 StorageBuffer@0.1 SampledImage@0.2 ReadOnlyBuffer@0.3"
        );
        assert_eq!(rest.log.map(|s| s.index), Some(2));
        assert_eq!(rest.image2d_heap.map(|s| (s.set, s.count)), Some((3, 0)));
    }

    #[test]
    fn metal_counts_buffers_and_textures() {
        let extras = Extras {
            log: true,
            samplers: 1,
            bindless_buffers: Some(Usage::Write),
            ..Extras::default()
        };
        let (arguments, rest) = places(Api::Metal, extras);
        assert_eq!(
            arguments,
            "ReadOnlyBuffer@0.1  StorageImage@0.0+SampledImage@0.1 StorageBuffer@0.2 SampledImage@0.2 ReadOnlyBuffer@0.3"
        );
        assert_eq!(
            (rest.log.map(|s| s.index), rest.samplers.len(), rest.buffer_heap),
            (Some(4), 0, None)
        );
    }
}
