//! Which variant of a kernel a device can run, and which of those is best.

/// What a device takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceProfile {
    /// Targets with the greatest detail that the device holds, best first: `ptx:sm_90`, `cpu:x86-64-v3`, `spirv:1.5`.
    pub takes: Vec<String>,
    /// Features it has, as metadata names them; nothing if the details say all.
    pub features: Option<Vec<String>>,
}

impl DeviceProfile {
    /// A device that takes one target up to this detail, whatever features the kernel needs.
    #[must_use]
    pub fn new(target: impl Into<String>) -> Self {
        Self { takes: vec![target.into()], features: None }
    }

    /// Objects that this processor runs.
    #[must_use]
    pub fn this_processor() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::is_x86_feature_detected as has;
            let v2 = has!("sse4.2") && has!("popcnt") && has!("cmpxchg16b");
            let v3 = v2 && has!("avx2") && has!("fma") && has!("f16c");
            let v3 = v3 && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("movbe");
            let v4 = v3 && has!("avx512f") && has!("avx512bw") && has!("avx512vl");
            let v4 = v4 && has!("avx512dq") && has!("avx512cd");
            let level = 1 + u32::from(v2) + u32::from(v3) + u32::from(v4);
            Self::new(format!("cpu:x86-64-v{level}"))
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::new(format!("cpu:{}", std::env::consts::ARCH))
    }

    /// How well a variant suits the device: the greater the better; nothing if the device cannot run it.
    pub(super) fn rank(&self, target: &str, features: &[String]) -> Option<Rank> {
        let has = |feature| self.features.as_ref().is_none_or(|all| all.contains(feature));
        if !features.iter().all(has) {
            return None;
        }
        let ranked = self.takes.iter().enumerate();
        let detail = |(i, most): (usize, &String)| Some((usize::MAX - i, fits(target, most)?));
        ranked.filter_map(detail).max()
    }
}

/// By the target's place in the device's list, then by detail.
pub(super) type Rank = (usize, Vec<u32>);

/// The detail of `target` as numbers, if it is not more than `most`.
fn fits(target: &str, most: &str) -> Option<Vec<u32>> {
    let ((name, detail), (wanted, most)) = (split(target), split(most));
    if name != wanted {
        return None;
    }
    let (kind, numbers) = if name == "cpu" { processor(detail) } else { version(detail) };
    let (most_kind, most_numbers) = if name == "cpu" { processor(most) } else { version(most) };
    if detail == most {
        return Some(most_numbers);
    }
    // What is made for one device alone, such as `sm_90a`, runs on no other.
    let particular = |detail: &str| name == "ptx" && detail.ends_with(char::is_alphabetic);
    (kind == most_kind && numbers <= most_numbers && !particular(detail)).then_some(numbers)
}

fn split(target: &str) -> (&str, &str) {
    target.split_once(':').unwrap_or((target, ""))
}

/// `sm_90` is `sm_` and 90, `1.5` is nothing and 1, 5.
fn version(detail: &str) -> (String, Vec<u32>) {
    let start = detail.find(|c: char| c.is_ascii_digit()).unwrap_or(detail.len());
    let (kind, numbers) = detail.split_at(start);
    let numbers = numbers.trim_end_matches(char::is_alphabetic);
    (kind.to_owned(), numbers.split('.').filter_map(|n| n.parse().ok()).collect())
}

/// Kind of object and level of the instruction set. Objects for systems that use ELF are alike to the runtime.
fn processor(detail: &str) -> (String, Vec<u32>) {
    if let Some(level) = detail.strip_prefix("x86-64") {
        let level = level.strip_prefix("-v").and_then(|n| n.parse().ok()).unwrap_or(1);
        return ("x86 elf".into(), vec![level]);
    }
    let elf = ["linux", "freebsd", "android"].iter().any(|system| detail.contains(system));
    match detail {
        "aarch64" => ("arm elf".into(), vec![1]),
        _ if elf && detail.starts_with("x86_64-") => ("x86 elf".into(), vec![1]),
        _ if elf && detail.starts_with("aarch64-") => ("arm elf".into(), vec![1]),
        _ => (detail.to_owned(), vec![1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn best(device: &[&str], targets: &[&str]) -> String {
        let profile = DeviceProfile {
            takes: device.iter().map(|t| (*t).to_owned()).collect(),
            features: None,
        };
        let ranked = targets.iter().filter_map(|t| Some((profile.rank(t, &[])?, *t)));
        ranked.max().map_or("none", |(_, t)| t).to_owned()
    }

    #[test]
    fn the_greatest_detail_that_fits_is_best() {
        let ptx = ["ptx:sm_75", "ptx:sm_90", "ptx:sm_120", "cpu:x86-64"];
        assert_eq!(best(&["ptx:sm_100"], &ptx), "ptx:sm_90");
        assert_eq!(best(&["ptx:sm_90"], &ptx), "ptx:sm_90");
        assert_eq!(best(&["ptx:sm_61"], &ptx), "none");
        assert_eq!(best(&["spirv:1.5"], &["spirv:1.3", "spirv:1.4", "spirv:1.6"]), "spirv:1.4");
        assert_eq!(best(&["msl:3.0"], &["msl:2.4", "msl:3.1"]), "msl:2.4");
        assert_eq!(best(&["wgsl"], &["wgsl", "spirv:1.3"]), "wgsl");
    }

    #[test]
    fn processors_take_lower_levels_of_their_own_kind() {
        let all = ["cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:aarch64"];
        assert_eq!(best(&["cpu:x86-64-v3"], &all), "cpu:x86-64-v3");
        assert_eq!(best(&["cpu:x86-64-v2"], &all), "cpu:x86-64");
        assert_eq!(best(&["cpu:aarch64"], &all), "cpu:aarch64");
        assert_eq!(best(&["cpu:x86-64-v4"], &["cpu:x86_64-pc-windows-msvc"]), "none");
        assert_eq!(
            best(&["cpu:aarch64"], &["cpu:aarch64-linux-android"]),
            "cpu:aarch64-linux-android"
        );
    }

    #[test]
    fn the_order_of_the_device_comes_first() {
        let both = ["spirv:1.3", "wgsl"];
        assert_eq!(best(&["wgsl", "spirv:1.5"], &both), "wgsl");
        assert_eq!(best(&["spirv:1.5", "wgsl"], &both), "spirv:1.3");
    }

    #[test]
    fn code_for_one_gpu_alone_needs_that_one() {
        assert_eq!(best(&["ptx:sm_100"], &["ptx:sm_90a", "ptx:sm_80"]), "ptx:sm_80");
        assert_eq!(best(&["ptx:sm_90a"], &["ptx:sm_90a", "ptx:sm_80"]), "ptx:sm_90a");
    }

    #[test]
    fn features_must_be_there() {
        let some = DeviceProfile {
            takes: vec!["spirv:1.5".into()],
            features: Some(vec!["float64".into()]),
        };
        assert!(some.rank("spirv:1.3", &["float64".into()]).is_some());
        assert!(some.rank("spirv:1.3", &["int64".into()]).is_none());
    }
}
