//! Operations over the active threads of each wave.
//!
//! A wave is `wave_width` threads of the block that follow each other in its linear order. Results do not depend on how threads
//! are scheduled beyond which of them are active together. Sums and products go from the lowest lane up, starting from the
//! first; those of halves run in float and round once.

use super::code::Wave;
use super::machine::{Lanes, Machine};
use crate::Scalar;
use crate::eval::{self, Bits};
use crate::op::{ArithmeticOp, ThreadGroupOp};

/// The active threads of one wave: for each its lane in the machine, and its lane in the wave.
struct Members {
    lanes: Vec<usize>,
    in_wave: Vec<u32>,
}

impl Machine<'_> {
    pub(super) fn wave(&mut self, frame: usize, lanes: Lanes, wave: &Wave) {
        let list = lanes.list();
        let width = self.launch.wave_width;
        let number = |machine: &Self, lane: u32| machine.threads[lane as usize].index / width;
        let mut start = 0;
        while start < list.len() {
            let wave_number = number(self, list[start]);
            let count =
                list[start..].iter().take_while(|&&l| number(self, l) == wave_number).count();
            let lanes: Vec<usize> =
                list[start..start + count].iter().map(|&l| l as usize).collect();
            let in_wave = lanes.iter().map(|&l| self.threads[l].index % width).collect();
            self.members(frame, &Members { lanes, in_wave }, wave);
            start += count;
        }
    }

    fn members(&mut self, frame: usize, members: &Members, wave: &Wave) {
        let (dst, a) = (self.row(frame + wave.dst as usize), self.at(frame, wave.a));
        match wave.op {
            ThreadGroupOp::WarpActiveBitMask => {
                let mut mask = [0u32; 4];
                for (&lane, &in_wave) in members.lanes.iter().zip(&members.in_wave) {
                    if self.cells[a.of(0, lane)] != 0 {
                        mask[(in_wave / 32) as usize] |= 1 << (in_wave % 32);
                    }
                }
                for &lane in &members.lanes {
                    for (i, word) in mask.into_iter().enumerate() {
                        self.cells[dst.of(i, lane)] = word.into();
                    }
                }
            }
            ThreadGroupOp::WarpReadLane => {
                let from: Vec<Option<usize>> = match wave.lane {
                    Some((src, _)) => {
                        let at = self.at(frame, src);
                        let wanted = |&lane: &usize| {
                            let bits = self.cells[at.of(0, lane)];
                            let position =
                                members.in_wave.iter().position(|&l| u64::from(l) == bits);
                            position.map(|i| members.lanes[i])
                        };
                        members.lanes.iter().map(wanted).collect()
                    }
                    None => vec![None; members.lanes.len()],
                };
                for i in 0..wave.count as usize {
                    // Read all before the first is written: the result has rows of its own.
                    for (&lane, from) in members.lanes.iter().zip(&from) {
                        self.cells[dst.of(i, lane)] =
                            from.map_or(0, |from| self.cells[a.of(i, from)]);
                    }
                }
            }
            _ => {
                for i in 0..wave.count as usize {
                    let values: Vec<Bits> =
                        members.lanes.iter().map(|&lane| self.cells[a.of(i, lane)]).collect();
                    let results = over(wave.op, wave.scalar, &values, &members.in_wave);
                    for (&lane, bits) in members.lanes.iter().zip(results) {
                        self.cells[dst.of(i, lane)] = bits;
                    }
                }
            }
        }
    }
}

/// One component for all active threads of a wave: their values and lanes to their results.
fn over(op: ThreadGroupOp, scalar: Scalar, values: &[Bits], lanes: &[u32]) -> Vec<Bits> {
    use ThreadGroupOp::*;
    let set = || values.iter().filter(|&&v| v != 0).count() as u64;
    let same = |bits: Bits| vec![bits; values.len()];
    match op {
        WarpIsFirstActiveLane => (0..values.len()).map(|i| u64::from(i == 0)).collect(),
        WarpFirstActiveLane => same(lanes.first().copied().unwrap_or(0).into()),
        WarpReadFirstActiveLane => same(values.first().copied().unwrap_or(0)),
        WarpActiveAllEqual => {
            let equal = eval::binary(ArithmeticOp::BinaryEqual, scalar, scalar);
            let all = equal.is_some_and(|equal| values.iter().all(|&v| equal(v, values[0]) != 0));
            same(all.into())
        }
        WarpActiveCountBits => same(set()),
        WarpActiveAll => same((set() == values.len() as u64).into()),
        WarpActiveAny => same((set() != 0).into()),
        WarpPrefixCountBits => {
            let mut count = 0;
            let mut before = |v: Bits| {
                count += u64::from(v != 0);
                count - u64::from(v != 0)
            };
            values.iter().map(|&v| before(v)).collect()
        }
        WarpActiveBitAnd => same(reduce(ArithmeticOp::BinaryBitAnd, scalar, values)),
        WarpActiveBitOr => same(reduce(ArithmeticOp::BinaryBitOr, scalar, values)),
        WarpActiveBitXor => same(reduce(ArithmeticOp::BinaryBitXor, scalar, values)),
        WarpActiveMax => same(reduce(ArithmeticOp::Max, scalar, values)),
        WarpActiveMin => same(reduce(ArithmeticOp::Min, scalar, values)),
        WarpActiveProduct => same(reduce(ArithmeticOp::BinaryMul, scalar, values)),
        WarpActiveSum => same(reduce(ArithmeticOp::BinaryAdd, scalar, values)),
        WarpPrefixSum => prefix(ArithmeticOp::BinaryAdd, scalar, values, 0),
        WarpPrefixProduct => prefix(ArithmeticOp::BinaryMul, scalar, values, 1),
        // Not operations over a wave; the compiler makes none of them.
        WarpActiveBitMask
        | WarpReadLane
        | ShaderExecutionReorder
        | RasterQuadDdx
        | RasterQuadDdy
        | SynchronizeBlock => same(0),
    }
}

/// The scalar that sums and products of `scalar` run in.
fn wide(op: ArithmeticOp, scalar: Scalar) -> Scalar {
    match (op, scalar) {
        (ArithmeticOp::BinaryAdd | ArithmeticOp::BinaryMul, Scalar::F16) => Scalar::F32,
        _ => scalar,
    }
}

fn convert(bits: Bits, from: Scalar, to: Scalar) -> Bits {
    eval::cast(from, to).map_or(bits, |cast| cast(bits))
}

fn reduce(op: ArithmeticOp, scalar: Scalar, values: &[Bits]) -> Bits {
    let wide = wide(op, scalar);
    let Some(function) = eval::binary(op, wide, wide) else { return 0 };
    let values = values.iter().map(|&v| convert(v, scalar, wide));
    convert(values.reduce(function).unwrap_or(0), wide, scalar)
}

/// The values of all lower active lanes together; for the first lane the neutral number.
fn prefix(op: ArithmeticOp, scalar: Scalar, values: &[Bits], neutral: u64) -> Vec<Bits> {
    let wide = wide(op, scalar);
    let Some(function) = eval::binary(op, wide, wide) else { return vec![0; values.len()] };
    let mut sum = None;
    values
        .iter()
        .map(|&value| {
            let value = convert(value, scalar, wide);
            let before = sum.unwrap_or_else(|| convert(neutral, Scalar::U64, wide));
            sum = Some(sum.map_or(value, |sum| function(sum, value)));
            convert(before, wide, scalar)
        })
        .collect()
}
