//! An open device.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
};

use super::WgpuError;
use crate::RuntimeError;

/// The interfaces that wgpu reaches here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// The device `wgpu`.
    Vulkan,
    /// The device `dx12`.
    Dx12,
    /// The device `metal`.
    Metal,
}

impl Api {
    /// The interface of a device's name; Vulkan for names of no device.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "dx12" => Self::Dx12,
            "metal" => Self::Metal,
            _ => Self::Vulkan,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Vulkan => "wgpu",
            Self::Dx12 => "dx12",
            Self::Metal => "metal",
        }
    }

    fn backends(self) -> wgpu::Backends {
        match self {
            Self::Vulkan => wgpu::Backends::VULKAN,
            Self::Dx12 => wgpu::Backends::DX12,
            Self::Metal => wgpu::Backends::METAL,
        }
    }

    /// Why there may be none here.
    fn absence(self) -> &'static str {
        match self {
            Self::Vulkan => "wgpu finds no Vulkan device",
            Self::Dx12 if cfg!(windows) => "wgpu finds no Direct3D 12 device",
            Self::Dx12 => "Direct3D 12 is there on Windows only",
            Self::Metal if cfg!(target_vendor = "apple") => "wgpu finds no Metal device",
            Self::Metal => "Metal is there on Apple's systems only",
        }
    }
}

/// What resources, kernels and lists of a device share.
pub(super) struct Shared {
    pub api: Api,
    pub info: wgpu::AdapterInfo,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub features: wgpu::Features,
    pub limits: wgpu::Limits,
    /// Why the device is lost, if it is.
    lost: Arc<Mutex<Option<String>>>,
    /// The sixteen samplers as a group, made at their first use.
    pub samplers: OnceLock<(wgpu::BindGroupLayout, wgpu::BindGroup)>,
}

/// Features that kernels may use, where the device has them.
fn wanted() -> wgpu::Features {
    use wgpu::Features as F;
    F::PASSTHROUGH_SHADERS
        | F::SHADER_F64
        | F::SHADER_INT64
        | F::SHADER_I16
        | F::SHADER_F16
        | F::SHADER_INT64_ATOMIC_ALL_OPS
        | F::SHADER_INT64_ATOMIC_MIN_MAX
        | F::SHADER_FLOAT32_ATOMIC
        | F::SUBGROUP
        | F::SUBGROUP_BARRIER
        | F::TEXTURE_BINDING_ARRAY
        | F::SAMPLED_TEXTURE_AND_STORAGE_BUFFER_ARRAY_NON_UNIFORM_INDEXING
        | F::TEXTURE_FORMAT_16BIT_NORM
        | F::FLOAT32_FILTERABLE
        | F::ADDRESS_MODE_CLAMP_TO_BORDER
}

/// Whether some limit of the samplers' group is met.
pub(super) const SAMPLERS: u32 = 16;

impl Shared {
    /// Opens the best device of an interface: discrete before integrated, software last.
    pub fn open(api: Api) -> Result<Arc<Self>, RuntimeError> {
        let absent = |reason: String| RuntimeError::NoDevice { device: api.name().into(), reason };
        let mut wish = wgpu::InstanceDescriptor::new_without_display_handle();
        wish.backends = api.backends();
        let instance = wgpu::Instance::new(wish);
        let mut adapters = ready(instance.enumerate_adapters(api.backends()));
        adapters.sort_by_key(|a| match a.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Other => 3,
            wgpu::DeviceType::Cpu => 4,
        });
        let fits = |a: &wgpu::Adapter| a.features().contains(wgpu::Features::PASSTHROUGH_SHADERS);
        let found = adapters.into_iter().find(fits);
        let adapter = found.ok_or_else(|| absent(api.absence().into()))?;
        let (features, limits) = (adapter.features() & wanted(), adapter.limits());
        let wish = wgpu::DeviceDescriptor {
            label: Some("luisac"),
            required_features: features,
            required_limits: limits.clone(),
            // SAFETY: the features that are called experimental here hand code through, for which the callers of `load` vouch.
            experimental_features: unsafe { wgpu::ExperimentalFeatures::enabled() },
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) =
            ready(adapter.request_device(&wish)).map_err(|e| absent(e.to_string()))?;
        let lost: Arc<Mutex<Option<String>>> = Arc::default();
        let note = lost.clone();
        device.set_device_lost_callback(move |_, why| {
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        });
        let (info, samplers) = (adapter.get_info(), OnceLock::new());
        Ok(Arc::new(Self { api, info, device, queue, features, limits, lost, samplers }))
    }

    /// Does something with the device, and gives what wgpu says against it as an error. `bytes` are those that are asked for.
    pub fn guarded<R>(&self, bytes: u64, f: impl FnOnce() -> R) -> Result<R, RuntimeError> {
        use wgpu::ErrorFilter as E;
        let scopes = [E::OutOfMemory, E::Internal, E::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let result = f();
        let mut errors: Vec<wgpu::Error> =
            scopes.into_iter().rev().filter_map(|scope| ready(scope.pop())).collect();
        if let Some(why) = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(self.gone(why));
        }
        match errors.pop() {
            None => Ok(result),
            Some(wgpu::Error::OutOfMemory { .. }) => Err(RuntimeError::OutOfMemory { bytes }),
            Some(e) => Err(WgpuError::Refused(e.to_string()).into()),
        }
    }

    pub fn gone(&self, reason: String) -> RuntimeError {
        RuntimeError::DeviceLost { device: self.api.name().into(), reason }
    }

    /// Blocks until all that was submitted has ended.
    pub fn wait(&self) -> Result<(), RuntimeError> {
        let done = self.device.poll(wgpu::PollType::wait_indefinitely());
        done.map(drop).map_err(|e| self.gone(e.to_string()))
    }

    pub fn unsupported(&self, what: impl Into<String>) -> RuntimeError {
        WgpuError::Unsupported { device: self.api.name(), what: what.into() }.into()
    }

    /// The samplers, number `filter * 4 + address`, and the layout of their group.
    pub fn samplers(&self) -> &(wgpu::BindGroupLayout, wgpu::BindGroup) {
        self.samplers.get_or_init(|| {
            let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
                    count: std::num::NonZeroU32::new(SAMPLERS),
                }],
            });
            let samplers: Vec<_> = (0..SAMPLERS).map(|n| self.sampler(n)).collect();
            let all: Vec<&wgpu::Sampler> = samplers.iter().collect();
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &[wgpu::BindGroupEntry {
                    binding: 0,
                    resource: wgpu::BindingResource::SamplerArray(&all),
                }],
            });
            (layout, group)
        })
    }

    fn sampler(&self, number: u32) -> wgpu::Sampler {
        use wgpu::{AddressMode as A, FilterMode as F, MipmapFilterMode as M};
        let (filter, mipmap_filter) = match number / 4 {
            0 => (F::Nearest, M::Nearest),
            1 => (F::Linear, M::Nearest),
            _ => (F::Linear, M::Linear),
        };
        let address = match number % 4 {
            0 => A::ClampToEdge,
            1 => A::Repeat,
            2 => A::MirrorRepeat,
            _ => A::ClampToBorder,
        };
        self.device.create_sampler(&wgpu::SamplerDescriptor {
            label: None,
            address_mode_u: address,
            address_mode_v: address,
            address_mode_w: address,
            mag_filter: filter,
            min_filter: filter,
            mipmap_filter,
            anisotropy_clamp: if number / 4 == 3 { 16 } else { 1 },
            border_color: (number % 4 == 3).then_some(wgpu::SamplerBorderColor::TransparentBlack),
            ..wgpu::SamplerDescriptor::default()
        })
    }
}

/// The value of a future that is ready, as wgpu's are where it does not run in a browser.
pub(super) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}
