//! Types in buffers: offsets, strides and widths are those of the input's layout.

use luisac_xir::text;

use crate::support::{Outcome, compile, has_judge, judge};

/// The text of a kernel that copies an element of a `buffer<T>` to another one. `declarations` may name `T`.
#[track_caller]
fn copy(declarations: &str, ty: &str, detail: &str) -> String {
    let source = format!(
        "module;\n{declarations}\nkernel @k block(64, 1, 1) (%0: resource buffer<{ty}>, %1: resource buffer<{ty}>) {{\nb0:\n  \
         %2: u32 = arithmetic extract dispatch_id, u32 0\n  %3: {ty} = resource_read buffer_read %0, %2\n  \
         resource_write buffer_write %1, %2, %3\n  return\n}}\n"
    );
    let module = text::parse(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let kernel = module.kernels().next().expect("a kernel");
    match compile(&module, kernel, detail, |_| {}) {
        Outcome::Compiled(artifact) => {
            if has_judge() {
                assert_eq!(judge(&artifact.code, detail), None);
            }
            artifact.texts[0].text.clone()
        }
        Outcome::Refused(e) => panic!("{e}"),
    }
}

/// What follows a decoration in each line that has it, sorted; the parameter block's own are left out.
fn decorations(text: &str, word: &str) -> Vec<u32> {
    let mut found: Vec<u32> = text
        .lines()
        .filter(|l| l.starts_with("OpDecorate") || l.starts_with("OpMemberDecorate"))
        .filter_map(|l| l.split_once(&format!(" {word} ")))
        .filter_map(|(_, value)| value.trim().parse().ok())
        .collect();
    found.sort_unstable();
    found
}

#[track_caller]
fn strides(declarations: &str, ty: &str, expected: &[u32]) {
    let text = copy(declarations, ty, "1.5");
    let mut all = decorations(&text, "ArrayStride");
    // The parameter block is an array of 16 bytes.
    let params = all.iter().position(|&s| s == 16).expect("the parameter block");
    all.remove(params);
    all.dedup();
    assert_eq!(all, expected, "{ty}\n{text}");
}

#[test]
fn elements_have_the_strides_of_the_input() {
    strides("", "f32", &[4]);
    strides("", "vector<f32, 2>", &[8]);
    strides("", "vector<f32, 3>", &[16]);
    strides("", "vector<f16, 3>", &[8]);
    strides("", "vector<f64, 3>", &[32]);
    strides("", "vector<u8, 4>", &[4]);
    strides("", "i16", &[2]);
    strides("", "u64", &[8]);
    strides("", "array<f32, 5>", &[4, 20]);
}

#[test]
fn a_bool_is_a_byte() {
    strides("", "bool", &[1]);
    strides("", "vector<bool, 3>", &[4]);
    let text = copy("", "bool", "1.3");
    for part in ["StorageBuffer8BitAccess", "SPV_KHR_8bit_storage", "OpTypeInt 8 0", "OpINotEqual"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Nothing is computed with bytes, so no device has to do it.
    assert!(!text.contains("OpCapability Int8"), "{text}");
}

#[test]
fn matrices_are_columns() {
    strides("", "matrix<f32, 2>", &[8, 16]);
    strides("", "matrix<f32, 3>", &[16, 48]);
    strides("", "matrix<f32, 4>", &[16, 64]);
}

#[test]
fn members_have_the_offsets_of_the_input() {
    let text = copy(
        "type T0 = struct<16, f32, vector<f32, 3>, bool, f16, f64>;\n\
         type T1 = struct<16, bool, T0, array<vector<f32, 3>, 2>, matrix<f32, 3>, u8>;",
        "T1",
        "1.4",
    );
    let offsets = decorations(&text, "Offset");
    let mut expected = vec![0, 16, 32, 34, 40];
    expected.extend([0, 16, 64, 96, 144]);
    // The two blocks of the buffers and the parameter block begin at 0.
    expected.extend([0, 0, 0]);
    expected.sort_unstable();
    assert_eq!(offsets, expected, "{text}");
    assert!(decorations(&text, "ArrayStride").contains(&160), "{text}");
}

#[test]
fn capabilities_are_those_of_the_types() {
    let text = copy("", "f32", "1.6");
    for part in ["Int64", "Float64", "Float16", "Int16", "Int8", "OpExtension"] {
        assert!(!text.contains(part), "{part}\n{text}");
    }
    for (ty, capability) in [("f64", "Float64"), ("u64", "Int64"), ("f16", "Float16")] {
        let text = copy("", ty, "1.6");
        assert!(text.contains(&format!("OpCapability {capability}")), "{text}");
    }
}

/// Names that may be one buffer are not taken for two.
#[test]
fn buffers_may_overlap() {
    assert!(copy("", "f32", "1.5").contains(" Aliased"));
}
