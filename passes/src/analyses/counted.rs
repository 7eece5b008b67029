//! Counted loops: one block enters, one leads back, the header alone may leave, and its test compares a recurrence with a value
//! that the loop does not change.

use super::loops::Loops;
use super::scalar_evolution::{Recurrence, ScalarEvolution, integer, mask, signed};
use luisac_ast::types::{Scalar, TypeTable};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};

/// How the counter is compared with the bound while the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    NotEqual,
}

impl Test {
    /// The operation that computes it.
    pub const fn op(self) -> ArithmeticOp {
        match self {
            Test::Less => ArithmeticOp::BinaryLess,
            Test::LessEqual => ArithmeticOp::BinaryLessEqual,
            Test::Greater => ArithmeticOp::BinaryGreater,
            Test::GreaterEqual => ArithmeticOp::BinaryGreaterEqual,
            Test::NotEqual => ArithmeticOp::BinaryNotEqual,
        }
    }

    /// The test of an operation, or of its negation. A loop that goes on while two numbers are equal runs once at most and is not
    /// looked at.
    fn of(op: ArithmeticOp, negated: bool) -> Option<Test> {
        Some(match (op, negated) {
            (ArithmeticOp::BinaryLess, false) | (ArithmeticOp::BinaryGreaterEqual, true) => {
                Test::Less
            }
            (ArithmeticOp::BinaryLessEqual, false) | (ArithmeticOp::BinaryGreater, true) => {
                Test::LessEqual
            }
            (ArithmeticOp::BinaryGreater, false) | (ArithmeticOp::BinaryLessEqual, true) => {
                Test::Greater
            }
            (ArithmeticOp::BinaryGreaterEqual, false) | (ArithmeticOp::BinaryLess, true) => {
                Test::GreaterEqual
            }
            (ArithmeticOp::BinaryNotEqual, false) | (ArithmeticOp::BinaryEqual, true) => {
                Test::NotEqual
            }
            _ => return None,
        })
    }

    /// The test with its operands exchanged.
    const fn mirrored(self) -> Test {
        match self {
            Test::Less => Test::Greater,
            Test::LessEqual => Test::GreaterEqual,
            Test::Greater => Test::Less,
            Test::GreaterEqual => Test::LessEqual,
            Test::NotEqual => Test::NotEqual,
        }
    }
}

/// How often the header goes on, where the counter does not wrap around on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trips {
    Constant(u64),
    /// `bound - start` if the test holds at the start, else none. The step is one.
    Up,
    /// `start - bound` if the test holds at the start, else none. The step is minus one.
    Down,
    /// Not known; the counter may wrap around.
    Unknown,
}

/// A counted loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedLoop {
    /// The loop's number.
    pub number: u32,
    pub preheader: BlockId,
    pub header: BlockId,
    pub latch: BlockId,
    /// Where the header goes on to, and where it leaves to.
    pub body: BlockId,
    pub exit: BlockId,
    /// Whether a true condition goes on.
    pub goes_on_if: bool,
    pub counter: Recurrence,
    pub test: Test,
    /// Defined outside of the loop.
    pub bound: ValueId,
    /// The instruction that compares.
    pub compare: InstId,
    pub trips: Trips,
}

impl CountedLoop {
    /// The counted form of a loop, if it has one. `blocks` are all blocks of the loop.
    pub fn of(
        func: &Function,
        types: &TypeTable,
        loops: &Loops,
        evolution: &ScalarEvolution,
        number: u32,
        blocks: &[BlockId],
    ) -> Option<CountedLoop> {
        let this = &loops.loops[number as usize];
        let (preheader, header, &[latch]) = (this.preheader?, this.header, &this.latches[..])
        else {
            return None;
        };
        let inside = |b: BlockId| loops.contains(number, b);
        let branch = func.terminator(header).filter(|&t| func.op(t) == Op::CondBr)?;
        let &[yes, no] = func.successors_of(branch) else { return None };
        let (body, exit, goes_on_if) = match (inside(yes), inside(no)) {
            (true, false) => (yes, no, true),
            (false, true) => (no, yes, false),
            _ => return None,
        };
        // An end inside the loop leaves it too.
        let stays = |&b: &BlockId| {
            let targets = func.successors(b);
            b == header || !targets.is_empty() && targets.iter().all(|&t| inside(t))
        };
        if !blocks.iter().all(stays) {
            return None;
        }
        let (compare, negated) = compare_of(func, func.arg(branch, 0), !goes_on_if)?;
        let Op::Arithmetic(op) = func.op(compare) else { return None };
        let test = Test::of(op, negated)?;
        let outside = |v: ValueId| {
            func.def_inst(v).is_none_or(|i| func.inst_block(i).is_some_and(|b| !inside(b)))
        };
        let &[a, b] = func.args(compare) else { return None };
        let of_this = |v: ValueId| evolution.recurrence(v).filter(|r| r.of_loop == number);
        let (counter, test, bound) = match (of_this(a), of_this(b)) {
            (Some(counter), None) if outside(b) => (counter, test, b),
            (None, Some(counter)) if outside(a) => (counter, test.mirrored(), a),
            _ => return None,
        };
        let scalar = integer(types, func.inst(counter.phi).ty)?;
        let trips = trips(func, scalar, &counter, test, bound);
        Some(CountedLoop {
            number,
            preheader,
            header,
            latch,
            body,
            exit,
            goes_on_if,
            counter,
            test,
            bound,
            compare,
            trips,
        })
    }
}

/// The comparison that a condition is, through negations.
fn compare_of(func: &Function, condition: ValueId, negated: bool) -> Option<(InstId, bool)> {
    let (mut value, mut negated) = (condition, negated);
    /// Negations of negations are folded elsewhere.
    const MAX_NEGATIONS: usize = 4;
    for _ in 0..MAX_NEGATIONS {
        let inst = func.def_inst(value)?;
        if func.op(inst) != Op::Arithmetic(ArithmeticOp::UnaryBitNot) {
            return Some((inst, negated));
        }
        value = func.arg(inst, 0);
        negated = !negated;
    }
    None
}

fn trips(
    func: &Function,
    scalar: Scalar,
    counter: &Recurrence,
    test: Test,
    bound: ValueId,
) -> Trips {
    let one = counter.step == 1;
    let minus_one = counter.step == mask(scalar.bits());
    match (func.constant_bits(counter.start), func.constant_bits(bound)) {
        (Some(start), Some(bound)) => constant_trips(scalar, start, counter.step, test, bound)
            .map_or(Trips::Unknown, Trips::Constant),
        // Below the bound, one more cannot wrap around.
        _ if test == Test::Less && one => Trips::Up,
        _ if test == Test::Greater && minus_one => Trips::Down,
        _ => Trips::Unknown,
    }
}

/// How often the test holds for `start`, `start + step`, ... before it fails; none if the counter wraps around before, or if it
/// never fails. All are bits of the scalar's width.
pub fn constant_trips(
    scalar: Scalar,
    start: u64,
    step: u64,
    test: Test,
    bound: u64,
) -> Option<u64> {
    let bits = scalar.bits();
    let number = |v: u64| match scalar.is_signed() {
        true => i128::from(signed(v, bits)),
        false => i128::from(v),
    };
    let (start, bound, step) = (number(start), number(bound), i128::from(signed(step, bits)));
    let (least, most) = match scalar.is_signed() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    // The first number at which the test fails lies at this distance or above, in the direction of the step.
    let distance = match test {
        Test::Less if start >= bound => 0,
        Test::LessEqual if start > bound => 0,
        Test::Greater if start <= bound => 0,
        Test::GreaterEqual if start < bound => 0,
        Test::NotEqual if start == bound => 0,
        Test::Less if step > 0 => bound - start,
        Test::LessEqual if step > 0 => bound - start + 1,
        Test::Greater if step < 0 => start - bound,
        Test::GreaterEqual if step < 0 => start - bound + 1,
        Test::NotEqual if (bound - start) % step == 0 && (bound - start) / step > 0 => {
            (bound - start).abs()
        }
        _ => return None,
    };
    let pace = step.abs();
    let rounds = (distance + pace - 1) / pace;
    let last = start + rounds * step;
    (least <= last && last <= most).then(|| u64::try_from(rounds).ok()).flatten()
}
