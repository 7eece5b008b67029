//! The sixteen samplers: number `filter * 4 + address`.

use ash::vk;

use super::{device::Shared, error::call};
use crate::RuntimeError;

impl Shared {
    /// All of them, made at the first use.
    pub fn samplers(&self) -> Result<&[vk::Sampler; 16], RuntimeError> {
        if let Some(samplers) = self.samplers.get() {
            return Ok(samplers);
        }
        let mut made = [vk::Sampler::null(); 16];
        for number in 0..made.len() {
            match self.sampler(number) {
                Ok(sampler) => made[number] = sampler,
                Err(e) => {
                    self.destroy_samplers(&made);
                    return Err(e);
                }
            }
        }
        let mut spare = Some(made);
        let samplers = self.samplers.get_or_init(|| spare.take().unwrap_or_default());
        if let Some(made) = spare {
            // Another thread was faster.
            self.destroy_samplers(&made);
        }
        Ok(samplers)
    }

    fn destroy_samplers(&self, samplers: &[vk::Sampler]) {
        // SAFETY: nothing has used them; null is allowed.
        samplers.iter().for_each(|s| unsafe { self.handle.destroy_sampler(*s, None) });
    }

    fn sampler(&self, number: usize) -> Result<vk::Sampler, RuntimeError> {
        use vk::{Filter, SamplerAddressMode as A, SamplerMipmapMode as M};
        let (filter, mode) = match number / 4 {
            0 => (Filter::NEAREST, M::NEAREST),
            1 => (Filter::LINEAR, M::NEAREST),
            _ => (Filter::LINEAR, M::LINEAR),
        };
        let address = match number % 4 {
            0 => A::CLAMP_TO_EDGE,
            1 => A::REPEAT,
            2 => A::MIRRORED_REPEAT,
            _ => A::CLAMP_TO_BORDER,
        };
        let anisotropic = number / 4 == 3 && self.abilities.anisotropy;
        let info = vk::SamplerCreateInfo::default()
            .mag_filter(filter)
            .min_filter(filter)
            .mipmap_mode(mode)
            .address_mode_u(address)
            .address_mode_v(address)
            .address_mode_w(address)
            .anisotropy_enable(anisotropic)
            .max_anisotropy(if anisotropic {
                self.limits.max_sampler_anisotropy.min(16.0)
            } else {
                1.0
            })
            .border_color(vk::BorderColor::FLOAT_TRANSPARENT_BLACK)
            .max_lod(vk::LOD_CLAMP_NONE);
        // SAFETY: the device has anisotropy where it is asked for.
        Ok(call("vkCreateSampler", unsafe { self.handle.create_sampler(&info, None) })?)
    }
}
