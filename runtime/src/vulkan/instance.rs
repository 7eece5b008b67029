//! The loader, and the devices it finds.

use std::{ffi::CStr, sync::Arc};

use ash::vk;

use super::error::{VulkanError, call};

/// The least version that has what kernels are compiled for: descriptor indexing and 8-bit storage are of its core.
const LEAST_VERSION: u32 = vk::API_VERSION_1_2;
/// The newest version whose features are known here.
const NEWEST_VERSION: u32 = vk::API_VERSION_1_3;

/// A device that the loader found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its name, as the driver gives it.
    pub name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: &'static str,
    /// Major and minor version of Vulkan.
    pub version: (u32, u32),
    /// Name and version of the driver.
    pub driver: String,
}

/// The devices here that kernels can run on, the one that [`Device::open`](super::Device::open) takes first.
///
/// # Errors
/// [`VulkanError::NoLoader`], or what the loader says; no device is an empty list.
pub fn devices() -> Result<Vec<DeviceInfo>, VulkanError> {
    let instance = Instance::new()?;
    Ok(instance.candidates()?.into_iter().map(|c| c.info).collect())
}

/// The loader and our connection to it.
pub(super) struct Instance {
    pub handle: ash::Instance,
    /// Holds the library.
    _entry: ash::Entry,
}

/// A physical device of version 1.2 or later.
pub(super) struct Candidate {
    pub handle: vk::PhysicalDevice,
    pub info: DeviceInfo,
    /// Whether the features of Vulkan 1.3 can be asked about.
    pub has_1_3: bool,
}

impl Instance {
    pub fn new() -> Result<Arc<Self>, VulkanError> {
        // SAFETY: the system's Vulkan loader has no condition on being loaded.
        let entry =
            unsafe { ash::Entry::load() }.map_err(|e| VulkanError::NoLoader(e.to_string()))?;
        let application = vk::ApplicationInfo::default()
            .application_name(c"luisac")
            .engine_name(c"luisac")
            .api_version(NEWEST_VERSION);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structure is complete, and the entry lives as long as the instance.
        let handle = match unsafe { entry.create_instance(&info, None) } {
            Ok(handle) => handle,
            Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => {
                return Err(VulkanError::NoDevice("the loader finds no driver".into()));
            }
            Err(result) => return Err(VulkanError::Call { call: "vkCreateInstance", result }),
        };
        Ok(Arc::new(Self { handle, _entry: entry }))
    }

    /// The devices that can be used, the best first.
    pub fn candidates(&self) -> Result<Vec<Candidate>, VulkanError> {
        // SAFETY: the instance is alive.
        let found = unsafe { self.handle.enumerate_physical_devices() };
        let found = match found {
            Err(vk::Result::ERROR_INITIALIZATION_FAILED) => Vec::new(),
            found => call("vkEnumeratePhysicalDevices", found)?,
        };
        let mut candidates: Vec<_> = found.into_iter().filter_map(|d| self.look(d)).collect();
        // Stable: devices of one kind stay in the loader's order.
        candidates.sort_by_key(|(rank, _)| *rank);
        Ok(candidates.into_iter().map(|(_, c)| c).collect())
    }

    fn look(&self, handle: vk::PhysicalDevice) -> Option<(u32, Candidate)> {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default();
        // SAFETY: the handle is the instance's.
        let version = unsafe { self.handle.get_physical_device_properties(handle) }.api_version;
        if version < LEAST_VERSION {
            return None;
        }
        properties = properties.push_next(&mut driver);
        // SAFETY: as above; structures of Vulkan 1.2, which the device has.
        unsafe { self.handle.get_physical_device_properties2(handle, &mut properties) };
        let device = properties.properties;
        let (rank, kind) = match device.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => (0, "discrete"),
            vk::PhysicalDeviceType::INTEGRATED_GPU => (1, "integrated"),
            vk::PhysicalDeviceType::VIRTUAL_GPU => (2, "virtual"),
            vk::PhysicalDeviceType::CPU => (4, "cpu"),
            _ => (3, "other"),
        };
        let text = |t: Result<&CStr, _>| {
            t.map_or_else(|_| String::new(), |t| t.to_string_lossy().into_owned())
        };
        let (name, info) =
            (text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str()));
        let info = DeviceInfo {
            name: text(device.device_name_as_c_str()),
            kind,
            version: (vk::api_version_major(version), vk::api_version_minor(version)),
            driver: format!("{name} {info}").trim().to_owned(),
        };
        Some((rank, Candidate { handle, info, has_1_3: version >= vk::API_VERSION_1_3 }))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: devices hold a reference to the instance, so there are none any more.
        unsafe { self.handle.destroy_instance(None) }
    }
}
