//! Many threads, handles that go away at any moment, kernels that trap, callbacks that panic or wait: no crash, no hang,
//! no lost work, and every failure is told where it is waited for.

mod common;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use common::{argument, kernels, metadata, talker_formats};
use luisac_artifact::metadata::{ArgumentKind, Usage};
use luisac_runtime::{Device, Kernel, RuntimeError};

fn words(usage: Usage) -> luisac_artifact::metadata::Argument {
    let argument = argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4);
    luisac_artifact::metadata::Argument { usage, ..argument }
}

fn load(device: &Device, object: &[u8], name: &str) -> Kernel {
    let metadata = match name {
        "talks" => metadata(name, [32, 1, 1], vec![words(Usage::Read)], talker_formats()),
        _ => {
            let arguments = vec![words(Usage::Read), words(Usage::ReadWrite)];
            metadata(name, [32, 1, 1], arguments, vec![])
        }
    };
    // SAFETY: the object is the C compiler's, from a source whose kernels follow the metadata.
    unsafe { device.load(object, metadata) }.unwrap()
}

#[test]
fn ten_thousand_lists_from_eight_threads() {
    let Some(object) = kernels("threads") else { return };
    let lists: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
    let device = Device::cpu_with_threads(3);
    let mix = load(&device, &object, "mix");
    // Every list adds one to a shared buffer, whatever thread and stream it comes from.
    let (ones, total) =
        (device.buffer_from(&[1u32; 64]).unwrap(), device.buffer::<u32>(64).unwrap());
    let event = device.event();
    let ran = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for t in 0..8 {
            let (device, mix, ones, total, event) = (&device, &mix, &ones, &total, &event);
            let ran = ran.clone();
            scope.spawn(move || {
                let mut stream = device.stream();
                for i in 0..lists / 8 {
                    let mine = device.buffer_from(&[i as u32; 64]).unwrap();
                    let mut list = device.list();
                    list.dispatch(mix, (ones, total), [64, 1, 1]).unwrap();
                    list.dispatch(mix, (&mine, &mine.clone()), [64, 1, 1]).unwrap();
                    let result = list.download(&mine).unwrap();
                    if i % 16 == 0 {
                        let ran = ran.clone();
                        list.callback(move || {
                            ran.fetch_add(16, Ordering::Relaxed);
                        });
                    }
                    let list = list.commit().unwrap();
                    drop(mine);
                    match (i + t) % 5 {
                        0 => stream.signal(event),
                        1 => drop(stream.wait_for(event)),
                        2 => stream = device.stream(),
                        _ => {}
                    }
                    let submission = stream.submit(&list).unwrap();
                    drop(list);
                    if i % 7 == 0 {
                        submission.wait().unwrap();
                        assert_eq!(result.take(), [(i as u32).wrapping_mul(32); 64]);
                    }
                }
                stream.wait().unwrap();
            });
        }
    });
    // y = 31 y + 1, as often as there were lists.
    let wanted = (0..lists / 8 * 8).fold(0u32, |y, _| y.wrapping_mul(31).wrapping_add(1));
    assert_eq!(total.read().unwrap(), [wanted; 64]);
    device.stream().wait().unwrap();
    // `read` came after all of them.
    assert_eq!(ran.load(Ordering::Relaxed), (lists / 8).div_ceil(16) * 16 * 8);
}

#[test]
fn a_trap_in_the_middle_loses_nothing_else() {
    let Some(object) = kernels("middle") else { return };
    let device = Device::cpu_with_threads(3);
    let (talks, mix) = (load(&device, &object, "talks"), load(&device, &object, "mix"));
    let bad = device.buffer_from(&[0u32, 2]).unwrap();
    let (ones, one) = (device.buffer_from(&[1u32; 8]).unwrap(), device.buffer::<u32>(8).unwrap());
    let mut list = device.list();
    list.dispatch(&mix, (&ones, &one), [8, 1, 1]).unwrap();
    list.dispatch(&talks, (&bad,), [2, 1, 1]).unwrap();
    let event = device.event();
    list.signal(&event);
    list.dispatch(&mix, (&ones, &one), [8, 1, 1]).unwrap();
    let list = list.commit().unwrap();
    for _ in 0..50 {
        let stream = device.stream();
        let submission = stream.submit(&list).unwrap();
        let refused: Vec<_> = (0..3).map(|_| stream.submit(&list)).collect();
        assert_eq!(submission.wait().unwrap_err().code(), "L1140");
        for submission in refused {
            // Refused at once, if the first has failed already, or later.
            let error = submission.and_then(|s| s.wait().map(drop)).unwrap_err();
            assert_eq!(error.code(), "L1150", "{error}");
        }
        assert_eq!(stream.wait().unwrap_err().code(), "L1140");
        assert!(event.wait().is_err());
    }
    // What the traps did not touch goes on, and what came before them has happened.
    one.write(&[0; 8]).unwrap();
    let mut list = device.list();
    list.dispatch(&mix, (&ones, &one), [8, 1, 1]).unwrap();
    list.run().unwrap();
    assert_eq!(one.read().unwrap(), [1; 8]);
}

#[test]
fn callbacks_run_between_what_is_around_them() {
    let device = Device::cpu_with_threads(3);
    let buffer = device.buffer::<u32>(4).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut list = device.list();
    for i in 0..20 {
        list.fill(&buffer, i).unwrap();
        let download = list.download(&buffer).unwrap();
        let seen = seen.clone();
        list.callback(move || seen.lock().unwrap().push(download.take()[3]));
    }
    let stream = device.stream();
    let list = list.commit().unwrap();
    stream.submit(&list).unwrap();
    stream.submit(&list).unwrap().wait().unwrap();
    let twice: Vec<u32> = (0..20).chain(0..20).collect();
    assert_eq!(*seen.lock().unwrap(), twice);
}

#[test]
fn callbacks_that_panic_or_wait_are_errors() {
    let device = Device::cpu_with_threads(1);
    let stream = device.stream();
    let mut list = device.list();
    list.callback(|| panic!("of no account"));
    let error = stream.submit(&list.commit().unwrap()).unwrap().wait().unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("of no account")), ("L1151", true));

    let stream = device.stream();
    // Too much for the thread that asks, so that it would have to wait for another.
    let (buffer, result) = (device.buffer::<u32>(1 << 20).unwrap(), Arc::new(Mutex::new(None)));
    let mut list = device.list();
    let into = result.clone();
    list.callback(move || *into.lock().unwrap() = buffer.read().err());
    stream.submit(&list.commit().unwrap()).unwrap().wait().unwrap();
    assert!(matches!(*result.lock().unwrap(), Some(RuntimeError::WaitInCallback)));
}

#[test]
fn what_cannot_be_had_is_an_error() {
    let device = Device::cpu();
    let code = |r: Result<(), RuntimeError>| r.err().map(|e| e.code());
    assert_eq!(code(device.buffer::<u64>(usize::MAX / 4).map(drop)), Some("L1130"));
    assert_eq!(code(device.buffer::<u64>(1 << 58).map(drop)), Some("L1130"));
    // Slots that hold nothing cost nothing but addresses, where the system gives so many.
    assert!(matches!(code(device.bindless_array(u32::MAX).map(drop)), None | Some("L1130")));
    assert_eq!(code(Device::open("abacus").map(drop)), Some("L1154"));
    // The device goes on.
    let buffer = device.buffer_from(&[1u8, 2, 3]).unwrap();
    assert_eq!(buffer.read().unwrap(), [1, 2, 3]);
}

#[test]
fn events_order_streams() {
    let device = Device::cpu_with_threads(2);
    let log = Arc::new(Mutex::new(Vec::new()));
    let push = |what: &'static str| {
        let (mut list, log) = (device.list(), log.clone());
        list.callback(move || {
            thread::sleep(std::time::Duration::from_millis(if what == "a" { 20 } else { 0 }));
            log.lock().unwrap().push(what);
        });
        list.commit().unwrap()
    };
    let (a, b) = (device.stream(), device.stream());
    let event = device.event();
    a.submit(&push("a")).unwrap();
    a.signal(&event);
    b.wait_for(&event).unwrap();
    b.submit(&push("b")).unwrap();
    assert!(!event.is_reached());
    b.wait().unwrap();
    assert!(event.is_reached());
    assert_eq!(*log.lock().unwrap(), ["a", "b"]);
}

#[test]
fn a_device_may_be_dropped_first() {
    let device = Device::cpu_with_threads(2);
    let buffer = device.buffer_from(&vec![7u32; 100_000]).unwrap();
    let mut list = device.list();
    let copy = device.buffer::<u32>(100_000).unwrap();
    list.copy(&buffer, &copy).unwrap();
    let download = list.download(&copy).unwrap();
    drop((buffer, copy));
    let stream = device.stream();
    let submission = stream.submit(&list.commit().unwrap()).unwrap();
    drop((stream, device));
    submission.wait().unwrap();
    assert_eq!(download.take(), vec![7; 100_000]);
}
