//! `luisac devices`, and what other commands ask about devices.

use super::lists::show;
use super::messages::{Failure, Messages};
use super::options::ListCommand;
use serde_json::{Value, json};

/// A device that is here, or why it is not.
pub struct Device {
    pub name: &'static str,
    pub state: Result<Here, Missing>,
}

/// What there is to say of a device.
pub struct Here {
    /// For the table.
    pub text: String,
    /// Beside the name.
    pub details: Value,
}

/// Why a device is not here.
pub struct Missing {
    pub why: String,
    pub help: String,
}

/// Every device there could be, in the order in which one would choose.
pub fn all() -> Vec<Device> {
    vec![
        Device { name: "cpu", state: Ok(cpu()) },
        Device { name: "cuda", state: cuda() },
        Device { name: "vulkan", state: vulkan() },
        Device { name: "wgpu", state: through_wgpu("wgpu") },
        Device { name: "dx12", state: through_wgpu("dx12") },
        Device { name: "metal", state: through_wgpu("metal") },
        Device { name: "interp", state: Ok(interpreter()) },
    ]
}

/// The device of this name.
///
/// # Errors
/// Why it is not here.
pub fn find(name: &str) -> Result<Here, Missing> {
    let found = all().into_iter().find(|d| d.name == name).map(|d| d.state);
    found.unwrap_or_else(|| Err(not_built(name)))
}

fn not_built(name: &str) -> Missing {
    Missing {
        why: format!("this build has no device `{name}`"),
        help: "use `--device cpu` or `--device interp`".into(),
    }
}

fn cpu() -> Here {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Here {
        text: format!("this machine's processor, {threads} threads"),
        details: json!({"targets": ["cpu:native"], "threads": threads}),
    }
}

fn interpreter() -> Here {
    Here { text: "the XIR interpreter".into(), details: json!({}) }
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Here, Missing> {
    let device = luisac_runtime::Device::open("cuda").map_err(|e| Missing {
        why: e.to_string(),
        help: "install NVIDIA's driver, or use `--device cpu`".into(),
    })?;
    let (text, targets) = (device.describe(), device.profile().takes);
    Ok(Here { details: json!({"targets": targets, "device": text}), text })
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Here, Missing> {
    Err(not_built("cuda"))
}

#[cfg(feature = "vulkan")]
fn vulkan() -> Result<Here, Missing> {
    use luisac_runtime::vulkan::{VulkanError, devices};
    let found = devices().and_then(|found| match found.is_empty() {
        true => Err(VulkanError::NoDevice("no driver here has Vulkan 1.2".into())),
        false => Ok(found),
    });
    let found = found.map_err(|e| Missing { why: e.to_string(), help: e.help().into() })?;
    let line = |d: &luisac_runtime::vulkan::DeviceInfo| {
        format!("{}, {}, Vulkan {}.{}, {}", d.name, d.kind, d.version.0, d.version.1, d.driver)
    };
    let details = |d: &luisac_runtime::vulkan::DeviceInfo| {
        let version = format!("{}.{}", d.version.0, d.version.1);
        json!({"name": d.name, "kind": d.kind, "vulkan": version, "driver": d.driver})
    };
    Ok(Here {
        text: found.iter().map(line).collect::<Vec<_>>().join("\n        "),
        details: json!({
            "targets": ["spirv", "wgsl"],
            "devices": found.iter().map(details).collect::<Vec<_>>(),
        }),
    })
}

#[cfg(not(feature = "vulkan"))]
fn vulkan() -> Result<Here, Missing> {
    Err(not_built("vulkan"))
}

/// The devices through wgpu.
#[cfg(feature = "wgpu")]
fn through_wgpu(name: &str) -> Result<Here, Missing> {
    let device = luisac_runtime::Device::open(name).map_err(|e| Missing {
        why: e.to_string(),
        help: "use `--device vulkan`, `--device cuda` or `--device cpu`".into(),
    })?;
    let (mut text, targets) = (device.describe(), device.profile().takes);
    let tried = name == "wgpu";
    if !tried {
        text.push_str("; luisac has never been run on such a device");
    }
    Ok(Here { details: json!({"targets": targets, "device": text, "tried": tried}), text })
}

#[cfg(not(feature = "wgpu"))]
fn through_wgpu(name: &str) -> Result<Here, Missing> {
    let Missing { why, .. } = not_built(name);
    Err(Missing { why, help: "build luisac with the feature `wgpu`".into() })
}

/// `luisac devices`.
pub fn run(command: &ListCommand, messages: &Messages) -> Result<(), Failure> {
    let (mut here, mut missing, mut table) = (Vec::new(), Vec::new(), String::new());
    for device in all() {
        match device.state {
            Ok(found) => {
                table.push_str(&format!("{:<7} {}\n", device.name, found.text));
                let mut entry = found.details;
                entry["name"] = device.name.into();
                here.push(entry);
            }
            Err(e) => {
                table.push_str(&format!("{:<7} not here: {}\n", device.name, e.why));
                missing.push(json!({"name": device.name, "why": e.why, "help": e.help}));
            }
        }
    }
    show(messages, command.json, json!({"devices": here, "missing": missing}), table)
}
