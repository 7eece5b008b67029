//! A device that goes away at any moment, or has no memory: no crash, no hang, no lost work, and nothing runs afterwards.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use luisac_artifact::{DeviceProfile, Metadata};

use super::Run;
use crate::{
    Device, ImageShape, PixelStorage, RuntimeError,
    backend::{Backend, Raw},
    cpu::Cpu,
    host,
    list::{Command, Committed},
};

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// From an operation on nothing works; runs fail at once, on the thread that starts them.
    Lost,
    /// The same, but runs fail later, on another thread.
    LostLater,
    /// The operation has no memory; all others work.
    NoMemory,
}

/// The CPU, until something goes wrong.
struct Failing {
    cpu: Cpu,
    fault: Fault,
    /// Operations that still work.
    left: Arc<AtomicI64>,
}

impl Failing {
    fn device(fault: Fault, left: i64) -> (Device, Arc<AtomicI64>) {
        let count = Arc::new(AtomicI64::new(left));
        let cpu = Cpu::new(host::Device::cpu_with_threads(2));
        let backend = Self { cpu, fault, left: count.clone() };
        (Device::with_backend(backend), count)
    }

    fn step(&self) -> Result<(), RuntimeError> {
        match (self.left.fetch_sub(1, Ordering::SeqCst), self.fault) {
            (0, Fault::NoMemory) => Err(RuntimeError::OutOfMemory { bytes: 1 }),
            (n, Fault::Lost | Fault::LostLater) if n <= 0 => Err(lost()),
            _ => Ok(()),
        }
    }
}

fn lost() -> RuntimeError {
    RuntimeError::DeviceLost { device: "failing".into(), reason: "it was told to".into() }
}

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn profile(&self) -> DeviceProfile {
        self.cpu.profile()
    }

    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError> {
        self.step().and_then(|()| self.cpu.buffer(bytes))
    }

    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError> {
        self.step().and_then(|()| self.cpu.image(shape))
    }

    fn bindless_array(&self, slots: u32) -> Result<Raw, RuntimeError> {
        self.step().and_then(|()| self.cpu.bindless_array(slots))
    }

    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError> {
        self.step()?;
        // SAFETY: the caller's promise.
        unsafe { self.cpu.kernel(code, metadata) }
    }

    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError> {
        self.step().and_then(|()| self.cpu.prepare(commands))
    }

    fn start(&self, run: Arc<Run>, here: bool) {
        match (self.step(), self.fault) {
            (Ok(()), _) => self.cpu.start(run, here),
            (Err(e), Fault::LostLater) => {
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(1));
                    run.finish(Err(e));
                });
            }
            (Err(e), _) => run.finish(Err(e)),
        }
    }

    fn skip(&self, list: &Committed, from: usize) {
        self.cpu.skip(list, from);
    }
}

/// Does something on a thread of its own, and fails if it does not end.
fn ends(name: String, f: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        f();
        let _ = sender.send(());
    });
    let ended = receiver.recv_timeout(Duration::from_secs(120));
    assert!(!matches!(ended, Err(mpsc::RecvTimeoutError::Timeout)), "{name} hangs");
    assert!(thread.join().is_ok(), "{name} failed");
}

/// What a program does, in steps that may fail; returns the codes of what failed, in order. What ended well is right.
fn program(device: &Device) -> Vec<&'static str> {
    let mut codes = Vec::new();
    let mut failed = |e: RuntimeError| codes.push(e.code());
    let image = device.image_2d(PixelStorage::Byte4, [4, 4]).map_err(&mut failed);
    let array = device.bindless_array(3).map_err(&mut failed);
    let _ = device.indirect_buffer(2).map_err(&mut failed);
    let buffers = (device.buffer::<u32>(64), device.buffer_from(&[7u32; 64]));
    let (Ok(a), Ok(b)) = (buffers.0.map_err(&mut failed), buffers.1.map_err(&mut failed)) else {
        return codes;
    };
    let streams = [device.stream(), device.stream()];
    let mut runs = Vec::new();
    for i in 0..12u32 {
        let one = || {
            let mut list = device.list();
            list.fill(&a, i)?;
            if let (Ok(image), Ok(array)) = (&image, &array) {
                array.set_buffer(i % 3, &b)?;
                list.update(array)?;
                list.copy_to_image(&a.view(..16)?, &image.base())?;
            }
            list.copy(&a, &b)?;
            let download = list.download(&b)?;
            let list = list.commit()?;
            let submission = streams[i as usize % 2].submit(&list)?;
            Ok::<_, RuntimeError>((submission, download))
        };
        match one() {
            Ok((submission, download)) if i % 3 == 0 => match submission.wait() {
                Ok(_) => assert_eq!(download.take(), [i; 64]),
                Err(e) => failed(e),
            },
            Ok(run) => runs.push((i, run)),
            Err(e) => failed(e),
        }
    }
    for (i, (submission, download)) in runs {
        match submission.wait() {
            // No other list has taken its place: each has its own download.
            Ok(_) => assert_eq!(download.take(), [i; 64]),
            Err(e) => failed(e),
        }
    }
    codes
}

#[test]
fn a_device_that_goes_away_at_any_operation() {
    let (whole, count) = Failing::device(Fault::Lost, i64::MAX);
    assert!(program(&whole).is_empty());
    let operations = i64::MAX - count.load(Ordering::SeqCst);
    assert!(operations > 25, "{operations}");
    for fault in [Fault::Lost, Fault::LostLater] {
        for n in 0..operations {
            ends(format!("{fault:?} at {n}"), move || {
                let (device, _) = Failing::device(fault, n);
                let codes = program(&device);
                assert!(!codes.is_empty());
                assert!(codes.iter().all(|c| ["L1155", "L1150"].contains(c)), "{codes:?}");
                // Whatever comes now is refused, on new streams too.
                assert_eq!(device.buffer::<u32>(1).unwrap_err().code(), "L1155");
                assert!(device.list().commit().is_err_and(|e| e.code() == "L1155"));
            });
        }
    }
}

#[test]
fn no_memory_at_any_operation() {
    for n in 0..40 {
        let (device, left) = Failing::device(Fault::NoMemory, n);
        let codes = program(&device);
        // A list that had none when it started has ended its stream.
        let failures = codes.iter().filter(|c| **c == "L1130").count();
        assert_eq!(failures, usize::from(left.load(Ordering::SeqCst) < 0), "{n}: {codes:?}");
        assert!(codes.iter().all(|c| ["L1130", "L1150"].contains(c)), "{n}: {codes:?}");
        left.store(-1, Ordering::SeqCst);
        // The device goes on.
        let buffer = device.buffer_from(&[n as u32; 9]).unwrap();
        assert_eq!(buffer.read().unwrap(), [n as u32; 9]);
    }
}

/// All lists use one resource, on many streams, so each waits for the one before; all fail as soon as they start.
#[test]
fn a_long_queue_of_a_lost_device_ends() {
    ends("a long queue".into(), || {
        let (device, left) = Failing::device(Fault::Lost, i64::MAX);
        let buffer = device.buffer::<u32>(4).unwrap();
        let mut list = device.list();
        let (go, wait) = mpsc::channel::<()>();
        // A list that holds up all others until they are there.
        list.callback(move || {
            let _ = wait.recv();
        });
        list.fill(&buffer, 1).unwrap();
        let first = device.stream().submit(&list.commit().unwrap()).unwrap();
        let mut list = device.list();
        list.fill(&buffer, 2).unwrap();
        let list = list.commit().unwrap();
        let submit = |_| {
            let stream = device.stream();
            (stream.submit(&list).unwrap(), stream)
        };
        let all: Vec<_> = (0..50_000).map(submit).collect();
        left.store(0, Ordering::SeqCst);
        drop(go);
        assert!(first.wait().is_ok(), "what had begun ends");
        for (submission, _) in &all {
            assert_eq!(submission.wait().unwrap_err().code(), "L1155");
        }
    });
}

#[test]
fn threads_lose_their_device() {
    for n in (30..600).step_by(57) {
        for fault in [Fault::Lost, Fault::LostLater] {
            ends(format!("{fault:?} at {n} with threads"), move || {
                let (device, _) = Failing::device(fault, n);
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| (0..6).for_each(|_| drop(program(&device))));
                    }
                });
                assert_eq!(device.buffer::<u32>(1).unwrap_err().code(), "L1155");
            });
        }
    }
}
