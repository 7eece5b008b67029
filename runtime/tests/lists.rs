//! Command lists on the CPU: recording is checked, lists run in order, streams and events order them, failures stay.

mod common;

use common::{argument, kernels, metadata, talker_formats};
use luisac_artifact::metadata::{Argument as Formal, ArgumentKind, Usage};
use luisac_runtime::{
    Argument, Buffer, Device, Float3, IndirectDispatch, Kernel, PixelStorage, RuntimeError,
};

fn formal(kind: ArgumentKind, ty: &str, size: u64, usage: Usage) -> Formal {
    Formal { usage, ..argument(kind, ty, size, size.max(1)) }
}

fn load(device: &Device, entry: &str, block: [u32; 3], arguments: Vec<Formal>) -> Option<Kernel> {
    let object = kernels(entry)?;
    // SAFETY: the object is the C compiler's, from a source whose kernels follow the metadata.
    Some(unsafe { device.load(&object, metadata(entry, block, arguments, vec![])) }.unwrap())
}

fn saxpy(device: &Device) -> Option<Kernel> {
    load(
        device,
        "saxpy",
        [32, 1, 1],
        vec![
            formal(ArgumentKind::Value, "float", 4, Usage::Read),
            formal(ArgumentKind::Buffer, "buffer<float>", 4, Usage::Read),
            formal(ArgumentKind::Buffer, "buffer<float>", 4, Usage::ReadWrite),
        ],
    )
}

#[test]
fn a_list_runs_many_times() {
    let device = Device::cpu_with_threads(3);
    let Some(kernel) = saxpy(&device) else { return };
    for n in [0usize, 1, 33, 200_000] {
        let x = device.buffer_from(&vec![1.0f32; n]).unwrap();
        let y = device.buffer::<f32>(n).unwrap();
        let mut list = device.list();
        list.dispatch(&kernel, (2.0f32, &x, &y), [n as u32, 1, 1]).unwrap();
        list.dispatch(&kernel, (0.5f32, &x, &y), [n as u32, 1, 1]).unwrap();
        let result = list.download(&y).unwrap();
        let list = list.commit().unwrap();
        let stream = device.stream();
        for _ in 0..4 {
            stream.submit(&list).unwrap();
        }
        stream.wait().unwrap();
        assert_eq!(result.take(), vec![10.0; n]);
        assert!(result.take().is_empty());
    }
}

#[test]
fn recording_is_checked() {
    let device = Device::cpu();
    let Some(kernel) = saxpy(&device) else { return };
    let other = Device::cpu();
    let x = device.buffer::<f32>(8).unwrap();
    let bytes = x.cast::<u8>().unwrap();
    let threes = device.buffer::<Float3>(2).unwrap();
    let image = device.image_2d(PixelStorage::Float1, [2, 4]).unwrap();
    let mut list = device.list();
    let mut code = |arguments: Vec<Argument>| {
        let result = list.dispatch(&kernel, arguments, [8, 1, 1]).map(drop);
        result.err().map(|e| e.code())
    };
    let a = Argument::from(1.0f32);
    assert_eq!(code(vec![a.clone(), (&x).into(), (&x).into()]), None);
    assert_eq!(code(vec![a.clone(), (&bytes).into(), (&x).into()]), None);
    assert_eq!(code(vec![a.clone(), (&x).into()]), Some("L1120"));
    assert_eq!(code(vec![(&x).into(), (&x).into(), (&x).into()]), Some("L1121"));
    assert_eq!(code(vec![a.clone(), (&image).into(), (&x).into()]), Some("L1121"));
    assert_eq!(code(vec![1u32.into(), (&x).into(), (&x).into()]), Some("L1170"));
    assert_eq!(code(vec![Argument::raw([0; 8]), (&x).into(), (&x).into()]), Some("L1122"));
    assert_eq!(code(vec![a.clone(), (&threes).into(), (&x).into()]), Some("L1170"));
    let odd = bytes.view(2..).unwrap();
    assert_eq!(code(vec![a.clone(), (&odd).into(), (&x).into()]), Some("L1124"));
    let foreign = other.buffer::<f32>(8).unwrap();
    assert_eq!(code(vec![a, (&foreign).into(), (&x).into()]), Some("L1171"));
    let mut text = |arguments: Vec<Argument>| {
        list.dispatch(&kernel, arguments, [8, 1, 1]).map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        text(vec![1u32.into(), (&x).into(), (&x).into()]),
        "the kernel `saxpy`: argument 0 is `float`, got `uint`"
    );
    assert_eq!(list.len(), 2);

    let failed = |r: Result<(), RuntimeError>| r.unwrap_err().code();
    assert_eq!(failed(x.view(3..9).map(drop)), "L1172");
    let turned = (std::ops::Bound::Included(5), std::ops::Bound::Excluded(4));
    assert_eq!(failed(x.view(turned).map(drop)), "L1172");
    assert_eq!(failed(list.upload(&x, &[0.0; 9]).map(drop)), "L1172");
    assert_eq!(failed(list.copy(&x, &foreign).map(drop)), "L1171");
    let (left, right) = (x.view(0..5).unwrap(), x.view(3..8).unwrap());
    assert_eq!(failed(list.copy(&left, &right).map(drop)), "L1173");
    assert_eq!(failed(list.copy(&left, &x).map(drop)), "L1132");
    assert_eq!(failed(list.upload_image(&image.base(), [0; 31]).map(drop)), "L1132");
    assert_eq!(failed(image.level(1).map(drop)), "L1172");
    assert_eq!(failed(list.dispatch(&kernel, (1.0f32, &x, &x), [u32::MAX; 3]).map(drop)), "L1133");
    assert_eq!(list.len(), 2);
}

#[test]
fn copies_and_fills() {
    let device = Device::cpu();
    let a = device.buffer_from(&(0u32..16).collect::<Vec<_>>()).unwrap();
    let b = device.buffer::<u32>(16).unwrap();
    let image = device.image_2d(PixelStorage::Int1, [4, 4]).unwrap();
    let other = device.image_2d(PixelStorage::Int1, [4, 4]).unwrap();
    let mut list = device.list();
    list.fill(&b, 7).unwrap();
    list.copy(&a.view(0..4).unwrap(), &b.view(12..).unwrap()).unwrap();
    list.copy_to_image(&b, &image.base()).unwrap();
    list.copy_image(&image.base(), &other.base()).unwrap();
    list.copy_from_image(&other.base(), &a).unwrap();
    list.fill(&b.view(1..1).unwrap(), 9).unwrap();
    let texels = list.download_image(&image.base()).unwrap();
    list.run().unwrap();
    let mut want = vec![7u32; 12];
    want.extend(0..4);
    assert_eq!(a.read().unwrap(), want);
    assert_eq!(b.read().unwrap(), want);
    assert_eq!(texels.take(), want.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>());
    image.base().write(&[1.0f32; 16], 1).unwrap();
    assert_eq!(image.base().read::<u32>(1).unwrap(), [u32::MAX; 16]);
}

#[test]
fn many_sizes_and_indirect_sizes() {
    let device = Device::cpu();
    let out = vec![formal(ArgumentKind::Buffer, "buffer<uint>", 4, Usage::Write)];
    let Some(kernel) = load(&device, "tables", [32, 1, 1], out) else { return };
    let run = |f: &dyn Fn(&mut luisac_runtime::CommandList, &Buffer<u32>)| {
        let out = device.buffer::<u32>(64).unwrap();
        let mut list = device.list();
        f(&mut list, &out);
        list.run()?;
        out.read()
    };
    // The kernel adds its id to all that it writes; the later dispatch wins, since it runs after the first.
    let one = run(&|list, out| {
        list.dispatch(&kernel, (out,), [64, 1, 1]).unwrap();
    })
    .unwrap();
    let two = run(&|list, out| {
        list.dispatch_many(&kernel, (out,), &[[0, 1, 1], [64, 1, 1], [0, 9, 9]]).unwrap();
    });
    assert_eq!(two.unwrap(), one.iter().map(|v| v + 1).collect::<Vec<_>>());

    let sizes = device.indirect_buffer(2).unwrap();
    let entry = |size, kernel_id| IndirectDispatch { block_size: [32, 1, 1], size, kernel_id };
    sizes.write(&[entry([0, 1, 1], 3), entry([64, 1, 1], 5)]).unwrap();
    let indirect = |list: &mut luisac_runtime::CommandList, out: &Buffer<u32>| {
        list.dispatch_indirect(&kernel, (out,), &sizes).unwrap();
    };
    assert_eq!(run(&indirect).unwrap(), one.iter().map(|v| v + 5).collect::<Vec<_>>());
    let wrong = IndirectDispatch { block_size: [16, 1, 1], ..entry([64, 1, 1], 0) };
    sizes.write(&[wrong]).unwrap();
    assert_eq!(run(&indirect).unwrap_err().code(), "L1144");
    assert_eq!(sizes.write(&[wrong; 3]).unwrap_err().code(), "L1172");
    // A count that the buffer does not hold is cut.
    sizes.bytes().write(&u32::MAX.to_le_bytes()).unwrap();
    assert_eq!(run(&indirect).unwrap_err().code(), "L1144");
}

#[test]
fn a_kernel_says_how_much_the_next_one_does() {
    let device = Device::cpu();
    let words = |usage| formal(ArgumentKind::Buffer, "buffer<uint>", 4, usage);
    let plan = formal(ArgumentKind::IndirectDispatch, "LC_IndirectDispatchBuffer", 0, Usage::Write);
    let plan = Formal { size: 16, element_align: 1, ..plan };
    let Some(plans) = load(&device, "plans", [1, 1, 1], vec![words(Usage::Read), plan]) else {
        return;
    };
    let Some(tables) = load(&device, "tables", [32, 1, 1], vec![words(Usage::Write)]) else {
        return;
    };
    let sizes = device.indirect_buffer(2).unwrap();
    let (count, out) = (device.buffer::<u32>(1).unwrap(), device.buffer::<u32>(96).unwrap());
    let mut list = device.list();
    let mut results = Vec::new();
    for n in [2, 0, 3] {
        list.upload(&count, &[n]).unwrap();
        list.fill(&out, 0).unwrap();
        list.dispatch(&plans, (&count, &sizes), [1, 1, 1]).unwrap();
        list.dispatch_indirect(&tables, (&out,), &sizes).unwrap();
        results.push((n, list.download(&out).unwrap()));
    }
    list.run().unwrap();
    for (n, result) in results {
        let written = result.take().iter().filter(|v| **v != 0).count();
        assert_eq!(written, 32 * n as usize);
    }
}

#[test]
fn a_fault_ends_the_stream_and_nothing_else() {
    let device = Device::cpu_with_threads(2);
    let Some(object) = kernels("streamfault") else { return };
    let mut input = formal(ArgumentKind::Buffer, "buffer<uint>", 4, Usage::Read);
    input.name = Some("in".into());
    let talks = metadata("talks", [32, 1, 1], vec![input], talker_formats());
    // SAFETY: as in `load`.
    let kernel = unsafe { device.load(&object, talks) }.unwrap();
    let (good, bad) =
        (device.buffer_from(&[1u32, 0, 1]).unwrap(), device.buffer_from(&[0u32, 3]).unwrap());
    let list = |buffer: &Buffer<u32>| {
        let mut list = device.list();
        list.dispatch(&kernel, (buffer,), [buffer.len() as u32, 1, 1]).unwrap();
        list.dispatch(&kernel, (buffer,), [1, 1, 1]).unwrap();
        list.commit().unwrap()
    };
    let (good, bad) = (list(&good), list(&bad));
    let (stream, after, apart) = (device.stream(), device.stream(), device.stream());
    let event = device.event();
    assert_eq!(after.wait_for(&event).unwrap_err().code(), "L1153");
    let lines = stream.submit(&good).unwrap().wait().unwrap().lines.clone();
    assert_eq!(lines, ["0: (0, -0)", "2: (2, -2)", "0: (0, -0)"]);

    let submitted = stream.submit(&bad).unwrap();
    stream.signal(&event);
    after.wait_for(&event).unwrap();
    let error = submitted.wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "index -1 is out of bounds of argument 0 (`in`) in the kernel `talks` at dispatch id (1, 0, 0)"
    );
    assert_eq!(error.code(), "L1141");
    assert_eq!(stream.wait().unwrap_err().code(), "L1141");
    assert_eq!(event.wait().unwrap_err().code(), "L1141");
    assert_eq!(stream.submit(&good).err().map(|e| e.code()), Some("L1150"));
    let refused = after.submit(&good).unwrap().wait().unwrap_err();
    assert_eq!(refused.code(), "L1150");
    assert!(refused.to_string().contains("index -1"), "{refused}");
    assert_eq!(apart.submit(&good).unwrap().wait().unwrap().lines.len(), 3);
}

/// What was printed before a fault is not lost with the list, whichever way the list runs.
#[test]
fn lines_before_a_fault_are_printed() {
    let device = Device::cpu_with_threads(2);
    let input = vec![formal(ArgumentKind::Buffer, "buffer<uint>", 4, Usage::Read)];
    let Some(object) = kernels("faultlines") else { return };
    let talks = metadata("talks", [32, 1, 1], input, talker_formats());
    // SAFETY: as in `load`.
    let kernel = unsafe { device.load(&object, talks) }.unwrap();
    let (first, bad) =
        (device.buffer_from(&[1u32]).unwrap(), device.buffer_from(&[0u32, 1, 2]).unwrap());
    let mut list = device.list();
    list.dispatch(&kernel, (&first,), [1, 1, 1]).unwrap();
    list.dispatch(&kernel, (&bad,), [3, 1, 1]).unwrap();
    let list = list.commit().unwrap();
    // The first run is a task of other threads; later ones are known to be short.
    for _ in 0..3 {
        let stream = device.stream();
        let lines = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = lines.clone();
        stream.on_print(move |line| sink.lock().unwrap().push(line.to_owned()));
        let error = stream.submit(&list).unwrap().wait().unwrap_err();
        assert_eq!(error.code(), "L1140");
        let mut lines = lines.lock().unwrap().clone();
        // Two dispatches that have nothing to wait for: the fault may come before the other has begun.
        lines.retain(|line| line != "0: (0, -0)");
        assert_eq!(lines, ["1: (1, -1)"]);
    }
}
