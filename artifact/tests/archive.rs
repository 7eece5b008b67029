//! Archives: what goes in comes out, the same bytes for the same kernels, and an error for whatever else.

use std::{fs, path::PathBuf};

use luisac_artifact::{
    Archive, ArchiveError, ArchiveWriter, DeviceProfile, Metadata,
    metadata::{BoundsMode, MathMode, Params, Ptx, SCHEMA, VERSION},
};

fn metadata(kernel: &str, target: &str) -> Metadata {
    Metadata {
        schema: SCHEMA.into(),
        version: VERSION,
        kernel: kernel.into(),
        entry: format!("kernel_{kernel}"),
        target: target.into(),
        block_size: [32, 1, 1],
        arguments: Vec::new(),
        params: Params { size: 16, dispatch: 0, log: None },
        shared_bytes: 0,
        scratch_bytes: 0,
        formats: Vec::new(),
        features: Vec::new(),
        wave_lanes: None,
        math: MathMode::Fast,
        bounds: BoundsMode::Off,
        bindings: None,
        ptx: target.starts_with("ptx").then(|| Ptx { sm: 80, version: "7.0".into() }),
        dxil: None,
        compiler: "0.1.0".into(),
        input_hash: "0".repeat(64),
        options_hash: "1".repeat(64),
    }
}

type Entry = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

const ENTRIES: [Entry; 5] = [
    ("blur", "ptx:sm_80", &[], "blur for 80"),
    ("blur", "ptx:sm_90", &[], "blur for 90"),
    ("blur", "ptx:sm_80", &[("2", "1.0"), ("1", "x")], "one"),
    ("add", "cpu:x86-64-v3", &[], "add"),
    ("sub", "cpu:x86-64-v3", &[], "add"),
];

fn sample(entries: &[Entry]) -> Vec<u8> {
    let mut writer = ArchiveWriter::new("0.1.0");
    for (kernel, target, defines, code) in entries {
        let defines = defines.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        writer.add(&metadata(kernel, target), defines, code.as_bytes().to_vec());
    }
    let packed = writer.finish().unwrap();
    let bytes = packed.to_bytes();
    assert_eq!(packed.size(), bytes.len());
    assert!(packed.is_indexed_as(&bytes) && !packed.is_indexed_as(&bytes[1..]));
    bytes
}

/// All that an archive shows, or the error that reading gave.
fn contents(archive: &Archive) -> Result<String, ArchiveError> {
    let mut text = archive.compiler().to_owned();
    for v in archive.variants() {
        text.push_str(&format!("\n{} {:?} {:?}", v.label(), v.features(), v.code()?));
        text.push_str(&v.metadata()?.to_json());
    }
    Ok(text)
}

#[test]
fn what_goes_in_comes_out() {
    let archive = Archive::from_bytes(sample(&ENTRIES)).unwrap();
    archive.verify().unwrap();
    assert_eq!(archive.kernels().collect::<Vec<_>>(), ["add", "blur", "sub"]);
    let labels: Vec<String> = archive.variants().map(|v| v.label()).collect();
    assert_eq!(
        labels,
        [
            "add for cpu:x86-64-v3",
            "blur for ptx:sm_80",
            "blur for ptx:sm_90",
            "blur[1=x,2=1.0] for ptx:sm_80",
            "sub for cpu:x86-64-v3",
        ]
    );
    let blur: Vec<_> = archive.kernel("blur").map(|v| v.code().unwrap()).collect();
    assert_eq!(blur, [&b"blur for 80"[..], b"blur for 90", b"one"]);
    assert_eq!(archive.kernel("bl").len(), 0);
    assert_eq!(
        archive.kernel("sub").next().unwrap().metadata().unwrap(),
        metadata("sub", "cpu:x86-64-v3")
    );
}

#[test]
fn the_best_variant_is_chosen_by_device_and_permutation() {
    let archive = Archive::from_bytes(sample(&ENTRIES)).unwrap();
    let best = |device: &str, defines: &[(&str, &str)]| {
        let found = archive.best("blur", defines, &DeviceProfile::new(device));
        found.map(|v| String::from_utf8_lossy(v.code().unwrap()).into_owned())
    };
    assert_eq!(best("ptx:sm_100", &[]).as_deref(), Some("blur for 90"));
    assert_eq!(best("ptx:sm_89", &[]).as_deref(), Some("blur for 80"));
    assert_eq!(best("ptx:sm_75", &[]), None);
    assert_eq!(best("ptx:sm_90", &[("2", "1.0"), ("1", "x")]).as_deref(), Some("one"));
    assert_eq!(best("ptx:sm_90", &[("2", "1.0")]), None);
}

#[test]
fn order_does_not_matter_and_equal_parts_are_held_once() {
    let mut reversed = ENTRIES;
    reversed.reverse();
    assert_eq!(sample(&ENTRIES), sample(&reversed));
    let archive = Archive::from_bytes(sample(&ENTRIES)).unwrap();
    let code = |name| archive.kernel(name).next().unwrap().code().unwrap().as_ptr();
    assert_eq!(code("add"), code("sub"));
    let empty = Archive::from_bytes(sample(&[])).unwrap();
    assert_eq!(empty.variants().len(), 0);
}

#[test]
fn two_kernels_of_one_name_clash() {
    let mut writer = ArchiveWriter::new("");
    writer.add(&metadata("a", "ptx:sm_80"), vec![], vec![1]);
    writer.add(&metadata("a", "ptx:sm_80"), vec![], vec![2]);
    let error = writer.finish().err().unwrap();
    assert_eq!((error.code(), error.to_string().contains("`a for ptx:sm_80`")), ("L1034", true));
}

struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("{name}-{}.luisa", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn files_are_mapped_and_blobs_are_aligned() {
    let file = File::new("archive-mapped", &sample(&ENTRIES));
    let archive = Archive::open(&file.0).unwrap();
    for variant in archive.variants() {
        assert_eq!(variant.code().unwrap().as_ptr() as usize % 64, 0);
    }
    assert_eq!(
        contents(&archive).unwrap(),
        contents(&Archive::from_bytes(sample(&ENTRIES)).unwrap()).unwrap()
    );
    let missing = Archive::open(file.0.with_extension("none")).err().unwrap();
    assert_eq!(missing.code(), "L1030");
    let empty = File::new("archive-empty", b"");
    assert_eq!(Archive::open(&empty.0).err().unwrap().code(), "L1031");
}

/// A pipe is read as far as its header says, a device that never ends not at all.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_read_with_care() {
    assert_eq!(Archive::open("/dev/zero").err().unwrap().code(), "L1031");
    let pipe = std::env::temp_dir().join(format!("archive-pipe-{}", std::process::id()));
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
        println!("skipped: no mkfifo here");
        return;
    }
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        // It is closed before all of this is read: the error is no matter.
        move || fs::write(pipe, [sample(&ENTRIES), vec![0; 1 << 20]].concat()).is_ok()
    });
    let archive = Archive::open(&pipe).unwrap();
    let _ = (writer.join(), fs::remove_file(pipe));
    assert_eq!(archive.bytes(), sample(&ENTRIES));
}

#[test]
fn embedded_archives_are_read() {
    // Any bytes are good enough to see where they would lie; a text is no archive.
    let error = luisac_artifact::include_archive!(path: "archive.rs").err().unwrap();
    assert_eq!(error.code(), "L1031");
    let bytes: &'static [u8] = sample(&ENTRIES).leak();
    assert_eq!(Archive::from_static(bytes).unwrap().variants().len(), 5);
}

#[test]
fn other_versions_are_refused_by_name() {
    for (version, help) in [(0u32, "bake the kernels again"), (2, "newer")] {
        let mut bytes = sample(&ENTRIES);
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let error = Archive::from_bytes(bytes).err().unwrap();
        assert_eq!(error.code(), "L1032");
        assert!(error.to_string().contains(&format!("version {version}")), "{error}");
        assert!(error.help().contains(help), "{}", error.help());
    }
}

/// An archive that was cut anywhere is refused, and one with a byte changed anywhere is refused or shows the same.
#[test]
fn damage_anywhere_is_an_error_or_nothing() {
    let bytes = sample(&ENTRIES);
    let good = contents(&Archive::from_bytes(bytes.clone()).unwrap()).unwrap();
    for cut in 0..bytes.len() {
        assert!(Archive::from_bytes(bytes[..cut].to_vec()).is_err(), "cut at {cut}");
    }
    let mut refused = 0;
    for at in 0..bytes.len() {
        for mask in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= mask;
            match Archive::from_bytes(changed).and_then(|a| contents(&a)) {
                Ok(shown) => assert_eq!(shown, good, "byte {at} changed by {mask:#x}"),
                Err(_) => refused += 1,
            }
        }
    }
    // Only what lies between the blobs may change unseen.
    assert!(refused > 3 * (bytes.len() - 64 * 10), "{refused} of {}", 3 * bytes.len());
    assert!(Archive::from_bytes([&bytes[..], b"\0"].concat()).is_err());
}

/// Bytes with right checksums that lie about everything else: random changes of the index.
#[test]
fn hostile_indices_with_right_checksums_are_survived() {
    use xxhash_rust::xxh3::xxh3_64;
    let bytes = sample(&ENTRIES);
    let start = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random() % 3 {
            let at = start + random() as usize % (bytes.len() - start);
            changed[at] = [random() as u8, 0xff, 0, 253][random() as usize % 4];
        }
        let sum = xxh3_64(&changed[start..]);
        changed[40..48].copy_from_slice(&sum.to_le_bytes());
        let sum = xxh3_64(&changed[..56]);
        changed[56..64].copy_from_slice(&sum.to_le_bytes());
        if let Ok(archive) = Archive::from_bytes(changed) {
            read += 1;
            let _ = contents(&archive);
            let _ = archive.best("blur", &[], &DeviceProfile::new("ptx:sm_90"));
        }
    }
    assert!(read > 0, "some changes are of values only");
}
