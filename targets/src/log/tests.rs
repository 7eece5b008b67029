//! Lowered kernels run in the interpreter, with the log as one of their buffers.

use luisac_artifact::metadata::{Format, FormatKind};
use luisac_passes::{Pipeline, RunOptions, TRAP_TEXT};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::{Module, text};

use super::lower_log;

/// The records in a log: kind, id and the words behind the header.
type Records = Vec<(FormatKind, u32, Vec<u32>)>;

struct Ran {
    records: Records,
    /// The two words of the counter.
    used: [u32; 2],
    formats: Vec<Format>,
    /// The first argument, a buffer of words.
    out: Vec<u32>,
}

fn words(bytes: &Arg) -> Vec<u32> {
    let Arg::Buffer(bytes) = bytes else { return Vec::new() };
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Runs the first kernel of `source` over 4 threads, whose first argument is a buffer of 8 words, after `passes`.
#[track_caller]
fn run(source: &str, passes: &str, capacity: u32) -> Ran {
    let mut module = text::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    if !passes.is_empty() {
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let parsed = Pipeline::parse(passes).unwrap_or_else(|e| panic!("{e}"));
        parsed.run(&mut module, options).unwrap_or_else(|e| panic!("{e}"));
    }
    let kernel = module.kernels().next().expect("a kernel");
    let logged = lower_log(&module, kernel).unwrap_or_else(|e| panic!("{e}"));
    assert!(logged.has_log);
    let lowered: &Module = &logged.module;
    if let Err(errors) = luisac_xir::verify::verify(lowered) {
        panic!("{}\n{}", errors[0], text::print(lowered));
    }
    let mut args = vec![
        Arg::Buffer(vec![0; 32]),
        Arg::Buffer(vec![0; capacity as usize + 8]),
        Arg::Value(capacity.to_le_bytes().to_vec()),
    ];
    let launch = Launch { races: false, ..Launch::new([4, 1, 1]) };
    interp::run(lowered, logged.kernel, &mut args, &launch)
        .unwrap_or_else(|f| panic!("{f}\n{}", text::print(lowered)));
    let log = words(&args[1]);
    let mut records = Vec::new();
    let mut at = 2;
    while let Some(&[size, id]) = log.get(at..at + 2).filter(|h| h[0] != 0) {
        let next = at + size as usize / 4;
        let format = &logged.formats[id as usize];
        assert_eq!(size, format.record_size);
        records.push((format.kind, id, log[at + 2..next].to_vec()));
        at = next;
    }
    Ran { records, used: [log[0], log[1]], formats: logged.formats, out: words(&args[0]) }
}

fn kernel(body: &str) -> String {
    format!(
        "module;\nkernel @k block(4, 1, 1) (%0: resource buffer<u32>) {{\nb0:\n\
         %1: u32 = arithmetic extract dispatch_id, u32 0\n{body}\n}}\n"
    )
}

#[test]
fn printed_values_lie_where_the_format_says() {
    let body = "%2: bool = arithmetic binary_equal %1, u32 2
        %3: u8 = cast static_cast %1
        %4: f16 = cast static_cast %1
        %5: u64 = cast static_cast %1
        %6: u64 = arithmetic binary_rotate_right %5, u32 4
        %7: vector<u32, 3> = arithmetic aggregate %1, u32 7, u32 9
        print \"{}\", %2, %3, %4, %6, %7
        return";
    let ran = run(&kernel(body), "", 1024);
    assert_eq!(ran.formats.len(), 1);
    let offsets: Vec<u32> = ran.formats[0].arguments.iter().map(|a| a.offset).collect();
    assert_eq!((offsets, ran.formats[0].record_size), (vec![0, 1, 2, 8, 16], 40));
    assert_eq!(ran.used, [160, 0]);
    for (i, (kind, _, words)) in ran.records.iter().enumerate() {
        let i = i as u32;
        let half = [0, 0x3c00, 0x4000, 0x4200][i as usize];
        let first = u32::from(i == 2) | i << 8 | half << 16;
        let expected = [first, 0, 0, i << 28, i, 7, 9, 0];
        assert_eq!((*kind, words.as_slice()), (FormatKind::Print, expected.as_slice()));
    }
    assert_eq!(ran.records.len(), 4);
}

/// A thread that fails stops; the others go on, in each form of the code.
#[test]
fn a_failed_assertion_ends_its_thread() {
    let body = "simple_loop body b1, merge b4
        b1:
        %2: bool = arithmetic binary_less %1, u32 2
        assert %2, \"small\"
        resource_write buffer_write %0, %1, u32 5
        if bool true, then b2, else b3, merge b3
        b2:
        break b4
        b3:
        continue b1
        b4:
        return";
    for passes in ["", "mem2reg", "destructure_cfg", "destructure_cfg,mem2reg,simplify_cfg"] {
        let ran = run(&kernel(body), passes, 1024);
        assert_eq!(ran.out[..4], [5, 5, 0, 0], "{passes}");
        assert_eq!(ran.formats[0].text, "small");
        let ids: Vec<&[u32]> = ran.records.iter().map(|r| &r.2[..3]).collect();
        assert_eq!(ids, [[2, 0, 0], [3, 0, 0]], "{passes}");
        assert!(ran.records.iter().all(|r| r.0 == FormatKind::Assert));
    }
}

/// Failing in a callable ends the thread in its callers too; another kernel keeps the callable as it was.
#[test]
fn a_failure_in_a_callable_ends_the_callers() {
    let source = "module;
        kernel @k block(4, 1, 1) (%0: resource buffer<u32>) {
        b0:
        %1: u32 = arithmetic extract dispatch_id, u32 0
        %2: u32 = call @outer(%1)
        resource_write buffer_write %0, %1, %2
        return
        }
        callable @outer(%0: value u32) -> u32 {
        b0:
        %1: u32 = call @inner(%0)
        print \"{}\", %1
        return %1
        }
        callable @inner(%0: value u32) -> u32 {
        b0:
        %1: bool = arithmetic binary_not_equal %0, u32 1
        assert %1, \"one\"
        %2: u32 = arithmetic binary_add %0, u32 10
        return %2
        }
        kernel @other block(4, 1, 1) () {
        b0:
        %0: u32 = call @outer(u32 1)
        return
        }\n";
    let ran = run(source, "", 1024);
    assert_eq!(ran.out[..4], [10, 0, 12, 13]);
    let mut kinds: Vec<FormatKind> = ran.records.iter().map(|r| r.0).collect();
    kinds.sort_by_key(|k| *k as u32);
    let print = FormatKind::Print;
    assert_eq!(kinds, [print, print, print, FormatKind::Assert]);
}

#[test]
fn indices_out_of_range_are_reported() {
    let body = "%2: u32 = arithmetic binary_mul %1, u32 4
        resource_write buffer_write %0, %2, u32 1
        %3: array<u32, 3> = alloca local
        %4: u32 = gep %3, %1
        store %4, u32 1
        return";
    let ran = run(&kernel(body), "lower_bounds{mode=trap}", 1024);
    assert_eq!(ran.out, [1, 0, 0, 0, 1, 0, 0, 0]);
    let traps: Vec<&[u32]> = ran.records.iter().map(|r| r.2.as_slice()).collect();
    assert_eq!(traps, [[2, 0, 0, 0, 8, 0], [3, 0, 0, 0, 12, 0]]);
    assert!(ran.records.iter().all(|r| r.0 == FormatKind::Trap));
    assert_eq!(ran.formats[0].text, "a buffer");
    // A print and an assertion that only look alike are what they are.
    let alone = format!("print \"{TRAP_TEXT}\", %1, %1, %1\nreturn");
    assert_eq!(run(&kernel(&alone), "", 1024).records[0].0, FormatKind::Print);
}

/// The counter stops a little above the capacity, a lost fault sets its bit, and what fits stays whole.
#[test]
fn a_full_log() {
    let body = "simple_loop body b1, merge b4
        b1:
        %2: u32 = phi (u32 0, b0), (%3, b3)
        %3: u32 = arithmetic binary_add %2, u32 1
        print \"{}\", %1
        %4: bool = arithmetic binary_greater %3, u32 1000
        if %4, then b2, else b3, merge b3
        b2:
        break b4
        b3:
        continue b1
        b4:
        %5: bool = arithmetic binary_less %1, u32 3
        assert %5, \"end\"
        return";
    let ran = run(&kernel(body), "", 72);
    assert_eq!(ran.records.len(), 4);
    assert!(ran.used[0] > 72 && ran.used[0] <= 72 + 4 * 16 + 16, "{:?}", ran.used);
    assert_eq!(ran.used[1], 1 << 31);
    // Without room for a single record.
    let ran = run(&kernel("print \"{}\", %1\nreturn"), "", 8);
    assert!(ran.records.is_empty() && ran.used[1] == 0 && ran.used[0] >= 16);
}

#[test]
fn what_does_not_log_is_left_alone() {
    let module = text::parse(&kernel("return")).expect("a module");
    let kernel = module.kernels().next().expect("a kernel");
    let logged = lower_log(&module, kernel).expect("lowered");
    assert!(!logged.has_log && matches!(logged.module, std::borrow::Cow::Borrowed(_)));
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    let body = "%2: array<u32, 1100> = alloca local\n%3: array<u32, 1100> = load %2\nprint \"{}\", %3\nreturn";
    let module = text::parse(&kernel(body)).expect("a module");
    let first = module.kernels().next().expect("a kernel");
    let error = lower_log(&module, first).err().expect("a refusal");
    assert_eq!(error.code, crate::errors::LOG_RECORD);
}
