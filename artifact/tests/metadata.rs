//! Metadata goes out and comes back, and nothing that contradicts itself comes in.

use luisac_artifact::{
    Bindings, LogLayout, Metadata, MetadataError, ParamLayout, Slot, SlotKind,
    metadata::{
        Argument, ArgumentKind, Binding, BoundsMode, Dxil, Format, FormatArgument, FormatKind,
        MathMode, Params, Ptx, SCHEMA, Signer, Usage, VERSION,
    },
};

fn slot(kind: SlotKind, set: u32, index: u32) -> Slot {
    Slot { kind, set, index, count: 1 }
}

fn bindings() -> Bindings {
    Bindings {
        params: slot(SlotKind::UniformBuffer, 0, 0),
        log: Some(slot(SlotKind::StorageBuffer, 0, 2)),
        samplers: vec![Slot { count: 16, ..slot(SlotKind::Sampler, 1, 0) }],
        buffer_heap: Some(Slot { count: 0, ..slot(SlotKind::StorageBuffer, 2, 0) }),
        image2d_heap: Some(Slot { count: 0, ..slot(SlotKind::SampledImage, 3, 0) }),
        image3d_heap: Some(Slot { count: 0, ..slot(SlotKind::SampledImage, 4, 0) }),
    }
}

fn sample() -> Metadata {
    let argument = |kind, ty: &str, element_size, element_align, size| Argument {
        name: None,
        kind,
        ty: ty.into(),
        element_size,
        element_align,
        usage: Usage::Read,
        sampled: false,
        captured: false,
        binding: None,
        offset: 0,
        slots: Vec::new(),
        size,
    };
    let mut arguments = vec![
        argument(ArgumentKind::Buffer, "buffer<float>", 4, 4, 16),
        argument(ArgumentKind::Image, "texture<2,float>", 0, 1, 16),
        argument(ArgumentKind::Value, "matrix<3>", 48, 16, 48),
        argument(ArgumentKind::Value, "bool", 1, 1, 1),
    ];
    arguments[0].captured = true;
    arguments[0].binding = Some(Binding::Buffer { handle: u64::MAX, offset: 16, size: 256 });
    arguments[0].slots = vec![slot(SlotKind::ReadOnlyBuffer, 0, 1)];
    arguments[1].name = Some("out".into());
    arguments[0].sampled = true;
    let mut m = Metadata {
        schema: SCHEMA.into(),
        version: VERSION,
        kernel: "saxpy".into(),
        entry: "kernel_main".into(),
        target: "ptx:sm_90".into(),
        block_size: [16, 16, 1],
        arguments,
        params: Params { size: 0, dispatch: 0, log: Some(0) },
        shared_bytes: 1024,
        scratch_bytes: 0,
        formats: vec![
            Format {
                kind: FormatKind::Print,
                text: "{} {}".into(),
                arguments: vec![
                    FormatArgument { ty: "int".into(), offset: 0 },
                    FormatArgument { ty: "vector<float,3>".into(), offset: 16 },
                ],
                record_size: LogLayout::of([(4, 4), (16, 16)]).unwrap().record_size,
            },
            Format {
                kind: FormatKind::Assert,
                text: "no".into(),
                arguments: vec![],
                record_size: 24,
            },
            Format {
                kind: FormatKind::Trap,
                text: String::new(),
                arguments: vec![],
                record_size: 32,
            },
        ],
        features: vec!["float64".into()],
        wave_lanes: Some(32),
        math: MathMode::Fast,
        bounds: BoundsMode::Trap,
        bindings: Some(bindings()),
        ptx: Some(Ptx { sm: 90, version: "8.0".into() }),
        dxil: None,
        compiler: "0.1.0".into(),
        input_hash: "0".repeat(64),
        options_hash: "f".repeat(64),
    };
    let layout: ParamLayout = m.layout().unwrap();
    for (a, o) in m.arguments.iter_mut().zip(&layout.offsets) {
        a.offset = *o;
    }
    m.params = Params { size: layout.size, dispatch: layout.dispatch, log: layout.log };
    m
}

#[test]
fn comes_back_as_it_went() {
    let m = sample();
    let text = m.to_json();
    let back = Metadata::from_json(text.as_bytes()).unwrap();
    assert_eq!(back, m);
    assert_eq!(back.to_json(), text);
    assert!(text.contains("\"handle\": \"18446744073709551615\""));
}

#[track_caller]
fn refused(want: &str, change: impl FnOnce(&mut Metadata)) {
    let mut m = sample();
    change(&mut m);
    match Metadata::from_json(m.to_json().as_bytes()) {
        Err(MetadataError::Invalid { key, .. }) => assert_eq!(key, want),
        other => panic!("expected `{want}` to be refused, got {other:?}"),
    }
}

#[test]
fn contradictions_are_named() {
    refused("entry", |m| m.entry.clear());
    refused("bindings", |m| m.bindings = None);
    refused("bindings.params", |m| m.bindings.as_mut().unwrap().params.kind = SlotKind::Sampler);
    refused("bindings.log", |m| m.bindings.as_mut().unwrap().log = None);
    refused("block_size", |m| m.block_size = [0, 1, 1]);
    refused("block_size", |m| m.block_size = [1025, 1, 1]);
    refused("block_size", |m| m.block_size = [1 << 16, 1 << 16, 1]);
    refused("input_hash", |m| m.input_hash = "xyz".into());
    refused("ptx", |m| m.ptx = None);
    refused("dxil", |m| m.dxil = Some(Dxil { validator: "1.8".into(), signed_by: Signer::Dxc }));
    refused("ptx", |m| m.target = "cpu:x86-64-v3".into());
    refused("arguments[1].offset", |m| m.arguments[1].offset = 8);
    refused("arguments[2].element_size", |m| m.arguments[2].element_size = 36);
    refused("arguments[2].size", |m| m.arguments[2].size = 36);
    refused("arguments[0].type", |m| m.arguments[0].ty = "float".into());
    refused("arguments[3].type", |m| m.arguments[3].ty = "texture<2,float>".into());
    refused("arguments[0].type", |m| m.arguments[0].ty = "buffer<".into());
    refused("arguments[0].binding", |m| m.arguments[0].captured = false);
    refused("arguments[0].binding", |m| {
        m.arguments[0].binding = Some(Binding::Accel { handle: 1 })
    });
    refused("arguments[2].captured", |m| m.arguments[2].captured = true);
    refused("params", |m| m.params.size += 16);
    refused("params", |m| m.params.dispatch = 0);
    refused("formats[0].record_size", |m| m.formats[0].record_size = 7);
    refused("formats[1].record_size", |m| m.formats[1].record_size = 32);
    refused("formats[0].arguments[1].offset", |m| m.formats[0].arguments[1].offset = 33);
    refused("formats[0].arguments[1].offset", |m| m.formats[0].arguments[1].offset = u32::MAX);
    refused("formats[0].arguments[0].type", |m| m.formats[0].arguments[0].ty = "accel".into());
    refused("wave_lanes", |m| m.wave_lanes = Some(3));
}

#[test]
fn other_files_are_named() {
    let code = |text: &str| Metadata::from_json(text.as_bytes()).unwrap_err().code();
    assert_eq!(code("{}"), "L1021");
    assert_eq!(code("{\"schema\":\"luisac.kernel\",\"version\":2,\"new\":1}"), "L1021");
    assert_eq!(code("{\"schema\":\"luisac.kernel\",\"version\":1}"), "L1020");
    assert_eq!(code("not json"), "L1020");
    assert_eq!(code(&"[".repeat(100_000)), "L1020");
    let extra = sample().to_json().replacen("{", "{\"mystery\":1,", 1);
    assert_eq!(code(&extra), "L1020");
}

#[test]
fn any_cut_or_flipped_byte_is_an_error_or_harmless() {
    let text = sample().to_json().into_bytes();
    for i in 0..text.len() - 1 {
        assert!(Metadata::from_json(&text[..i]).is_err());
        let mut bad = text.clone();
        bad[i] ^= 0x11;
        if let Ok(m) = Metadata::from_json(&bad) {
            m.check().unwrap();
        }
    }
}

/// The properties of an object in the schema, by the path of keys that leads to it.
fn properties(schema: &serde_json::Value, path: &[&str]) -> Vec<String> {
    let object = path.iter().fold(schema, |v, k| &v[*k]);
    object["properties"].as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn the_schema_has_every_key_and_no_other() {
    let schema = include_str!("../../docs/json/metadata.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let m = serde_json::to_value(sample()).unwrap();
    let keys = |v: &serde_json::Value| {
        let mut keys: Vec<_> = v.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let mut argument = keys(&m["arguments"][0]);
    argument.push("name".into());
    argument.sort();
    let sorted = |mut v: Vec<String>| {
        v.sort();
        v
    };
    // No target has both.
    let dxil = Dxil { validator: "1.8".into(), signed_by: Signer::Luisac };
    let dxil = serde_json::to_value(dxil).unwrap();
    assert_eq!(sorted(properties(&schema, &["properties", "dxil"])), sorted(keys(&dxil)));
    let all = sorted(keys(&m).into_iter().chain(["dxil".into()]).collect());
    assert_eq!(sorted(properties(&schema, &[])), all);
    assert_eq!(sorted(properties(&schema, &["$defs", "argument"])), argument);
    assert_eq!(sorted(properties(&schema, &["$defs", "format"])), keys(&m["formats"][0]));
    assert_eq!(sorted(properties(&schema, &["properties", "params"])), keys(&m["params"]));
    assert_eq!(sorted(properties(&schema, &["properties", "ptx"])), keys(&m["ptx"]));
    assert_eq!(sorted(properties(&schema, &["properties", "bindings"])), keys(&m["bindings"]));
    assert_eq!(
        sorted(properties(&schema, &["$defs", "slot"])),
        keys(&m["bindings"]["samplers"][0])
    );
}
