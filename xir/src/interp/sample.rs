//! Sampled textures: which texels a sampler reads, and how they are weighed.
//!
//! The rules are Vulkan's ("Image Sample Operations", 16.5 to 16.9) with exact weights, where devices keep 8 bits of the
//! fraction. The steps are in float; a texel `k` of `n` has its centre at `(k + 0.5) / n`.

use super::machine::Step;
use crate::op::ArithmeticOp;
use crate::{Scalar, eval};

/// How texels between the given ones are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel of the nearest level.
    Point,
    /// Linear between texels of the nearest level.
    LinearPoint,
    /// Linear between texels and between levels.
    LinearLinear,
    /// As `LinearLinear`, up to 16 times along the longer of the two gradients.
    Anisotropic,
}

/// What lies outside the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The texel at the edge.
    Edge,
    Repeat,
    Mirror,
    /// Zero in all channels.
    Zero,
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    pub filter: Filter,
    pub address: Address,
}

/// Taps of anisotropic filtering along the longer gradient, at most.
const MAX_ANISOTROPY: f32 = 16.0;

impl Sampler {
    /// The sampler of LuisaCompute's two codes; none for codes that do not exist.
    pub fn from_codes(filter: u64, address: u64) -> Option<Sampler> {
        let filter = match filter {
            0 => Filter::Point,
            1 => Filter::LinearPoint,
            2 => Filter::LinearLinear,
            3 => Filter::Anisotropic,
            _ => return None,
        };
        let address = match address {
            0 => Address::Edge,
            1 => Address::Repeat,
            2 => Address::Mirror,
            3 => Address::Zero,
            _ => return None,
        };
        Some(Sampler { filter, address })
    }

    /// Both codes in one number: `filter * 4 + address`.
    pub fn code(self) -> u32 {
        self.filter as u32 * 4 + self.address as u32
    }
}

/// The level of detail that is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail {
    Level(f32),
    /// Change of the coordinates from one pixel to the next along x and y; the level is not below `least`.
    Gradients {
        ddx: [f32; 3],
        ddy: [f32; 3],
        least: f32,
    },
}

/// A texture as a sampler sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Texels of level 0; 1 on axes that the texture lacks.
    pub size: [u32; 3],
    pub dimensions: usize,
    pub levels: u32,
}

impl Shape {
    /// Texels of a level on each axis.
    pub fn of_level(&self, level: u32) -> [u32; 3] {
        match level {
            0 => self.size,
            _ => self.size.map(|n| n.checked_shr(level).unwrap_or(0).max(1)),
        }
    }

    /// Texels of all levels before this one.
    pub fn before(&self, level: u32) -> u64 {
        (0..level).map(|l| self.of_level(l).iter().map(|&n| u64::from(n)).product::<u64>()).sum()
    }
}

type Texel = [f32; 4];

/// Samples at normalised coordinates. `texel` reads one texel of a level.
pub(super) fn sample(
    shape: &Shape,
    sampler: Sampler,
    at: [f32; 3],
    detail: Detail,
    texel: &mut impl FnMut(u32, [u32; 3]) -> Step<Texel>,
) -> Step<Texel> {
    let (level, spread) = level_of(shape, sampler, detail);
    let Some((direction, taps)) = spread else {
        return at_level(shape, sampler, at, level, texel);
    };
    // The taps stand evenly along the longer gradient, around the point.
    let mut sum = [0.0; 4];
    for i in 1..=taps {
        let along = i as f32 / (taps + 1) as f32 - 0.5;
        let point = [0, 1, 2].map(|axis| at[axis] + along * direction[axis]);
        let one = at_level(shape, sampler, point, level, texel)?;
        sum = [0, 1, 2, 3].map(|c| sum[c] + one[c]);
    }
    Ok(sum.map(|c| c / taps as f32))
}

/// The level of detail, and for anisotropic filtering the longer gradient and the number of taps along it.
fn level_of(shape: &Shape, sampler: Sampler, detail: Detail) -> (f32, Option<([f32; 3], u32)>) {
    let Detail::Gradients { ddx, ddy, least } = detail else {
        let Detail::Level(level) = detail else { return (0.0, None) };
        return (level, None);
    };
    let (x, y) = (texels(shape, ddx), texels(shape, ddy));
    let (long, short, direction) = if x >= y { (x, y, ddx) } else { (y, x, ddy) };
    if sampler.filter != Filter::Anisotropic {
        return (log2(long).max(least), None);
    }
    let ratio = if short > 0.0 { long / short } else { MAX_ANISOTROPY };
    // Two gradients without end are equally long.
    let counts = long > 0.0 && !ratio.is_nan();
    let ratio = if counts { ratio.clamp(1.0, MAX_ANISOTROPY) } else { 1.0 };
    let taps = ratio.ceil() as u32;
    (log2(long / ratio).max(least), (taps > 1).then_some((direction, taps)))
}

/// The logarithm as kernels compute it.
fn log2(x: f32) -> f32 {
    let computed = eval::unary(ArithmeticOp::Log2, Scalar::F32);
    computed.map_or(x.log2(), |f| f32::from_bits(f(x.to_bits().into()) as u32))
}

/// Length of a gradient in texels of level 0.
fn texels(shape: &Shape, gradient: [f32; 3]) -> f32 {
    let axes = (0..shape.dimensions).map(|axis| gradient[axis] * shape.size[axis] as f32);
    axes.map(|d| d * d).sum::<f32>().sqrt()
}

fn at_level(
    shape: &Shape,
    sampler: Sampler,
    at: [f32; 3],
    level: f32,
    texel: &mut impl FnMut(u32, [u32; 3]) -> Step<Texel>,
) -> Step<Texel> {
    // A level that is no number is the first one.
    let level = if level.is_nan() { 0.0 } else { level.clamp(0.0, (shape.levels - 1) as f32) };
    if matches!(sampler.filter, Filter::Point | Filter::LinearPoint) {
        return in_level(shape, sampler, at, (level + 0.5).floor() as u32, texel);
    }
    let lower = level.floor();
    let fraction = level - lower;
    let first = in_level(shape, sampler, at, lower as u32, texel)?;
    if fraction == 0.0 {
        return Ok(first);
    }
    let second = in_level(shape, sampler, at, lower as u32 + 1, texel)?;
    Ok(mix(first, second, fraction))
}

fn mix(a: Texel, b: Texel, t: f32) -> Texel {
    [0, 1, 2, 3].map(|c| a[c] + t * (b[c] - a[c]))
}

fn in_level(
    shape: &Shape,
    sampler: Sampler,
    at: [f32; 3],
    level: u32,
    texel: &mut impl FnMut(u32, [u32; 3]) -> Step<Texel>,
) -> Step<Texel> {
    let level = level.min(shape.levels - 1);
    let size = shape.of_level(level);
    let mut fetch = |position: [i64; 3]| {
        let mut inside = [0; 3];
        for axis in 0..shape.dimensions {
            match wrap(position[axis], size[axis], sampler.address) {
                Some(i) => inside[axis] = i,
                None => return Ok([0.0; 4]),
            }
        }
        texel(level, inside)
    };
    if sampler.filter == Filter::Point {
        return fetch([0, 1, 2].map(|axis| whole((at[axis] * size[axis] as f32).floor())));
    }
    let centred = [0, 1, 2].map(|axis| at[axis] * size[axis] as f32 - 0.5);
    let corner = centred.map(|x| whole(x.floor()));
    let weight = [0, 1, 2].map(|axis| centred[axis] - centred[axis].floor());
    // The corners with x fastest, then joined axis by axis.
    let mut corners = [[0.0; 4]; 8];
    let count = 1 << shape.dimensions;
    for (i, value) in corners.iter_mut().enumerate().take(count) {
        let step = |axis: usize| if axis < shape.dimensions { (i >> axis & 1) as i64 } else { 0 };
        *value = fetch([0, 1, 2].map(|axis| corner[axis] + step(axis)))?;
    }
    for (axis, &t) in weight.iter().enumerate().take(shape.dimensions) {
        for i in 0..count >> (axis + 1) {
            corners[i] = mix(corners[2 * i], corners[2 * i + 1], t);
        }
    }
    Ok(corners[0])
}

/// A float without a fraction as a position; far outside it stays within what is exact, and what is no number is the first.
fn whole(x: f32) -> i64 {
    const FAR: f32 = (1 << 30) as f32;
    if x.is_nan() { 0 } else { x.clamp(-FAR, FAR) as i64 }
}

/// The texel of an axis of `size` texels that a position names; none outside a texture with a border.
fn wrap(position: i64, size: u32, address: Address) -> Option<u32> {
    let n = i64::from(size);
    let inside = match address {
        Address::Edge => position.clamp(0, n - 1),
        Address::Repeat => position.rem_euclid(n),
        Address::Mirror => {
            let i = position.rem_euclid(2 * n);
            if i < n { i } else { 2 * n - 1 - i }
        }
        Address::Zero => position,
    };
    u32::try_from(inside).ok().filter(|&i| i < size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { size: [4, 2, 1], dimensions: 2, levels: 3 };

    /// A texel is 100 times its level, 10 times its row, its column.
    fn value(sampler: Sampler, at: [f32; 2], detail: Detail) -> f32 {
        let mut read = |level: u32, [x, y, _]: [u32; 3]| {
            Ok([(100 * level + 10 * y + x) as f32, 0.0, 0.0, 1.0])
        };
        let sampled = sample(&SHAPE, sampler, [at[0], at[1], 0.0], detail, &mut read);
        sampled.unwrap_or_else(|_| panic!("reads cannot fail here"))[0]
    }

    fn sampler(filter: Filter, address: Address) -> Sampler {
        Sampler { filter, address }
    }

    #[test]
    fn points_take_the_texel_that_they_lie_in() {
        let s = sampler(Filter::Point, Address::Edge);
        assert_eq!(value(s, [0.0, 0.0], Detail::Level(0.0)), 0.0);
        assert_eq!(value(s, [0.249, 0.5], Detail::Level(0.0)), 10.0);
        assert_eq!(value(s, [0.25, 0.5], Detail::Level(0.4)), 11.0);
        assert_eq!(value(s, [0.25, 0.5], Detail::Level(0.5)), 100.0);
        assert_eq!(value(s, [0.25, 0.5], Detail::Level(9.0)), 200.0);
        assert_eq!(value(s, [0.25, 0.5], Detail::Level(f32::NAN)), 11.0);
    }

    #[test]
    fn addresses_say_what_lies_outside() {
        let at =
            |address, x: f32| value(sampler(Filter::Point, address), [x, 0.0], Detail::Level(0.0));
        // The texel that holds -0.3 is number -2.
        assert_eq!(at(Address::Edge, -0.3), 0.0);
        assert_eq!(at(Address::Repeat, -0.3), 2.0);
        assert_eq!(at(Address::Mirror, -0.3), 1.0);
        assert_eq!(at(Address::Zero, -0.3), 0.0);
        assert_eq!(at(Address::Edge, 1.1), 3.0);
        assert_eq!(at(Address::Repeat, 1.1), 0.0);
        assert_eq!(at(Address::Mirror, 1.1), 3.0);
        assert_eq!(at(Address::Repeat, 3.3), 1.0);
        assert_eq!(at(Address::Mirror, f32::INFINITY), at(Address::Mirror, 1e30));
        assert_eq!(at(Address::Edge, f32::NAN), 0.0);
    }

    #[test]
    fn linear_filters_weigh_by_distance_to_centres() {
        let s = sampler(Filter::LinearPoint, Address::Edge);
        assert_eq!(value(s, [0.375, 0.25], Detail::Level(0.0)), 1.0);
        assert_eq!(value(s, [0.5, 0.5], Detail::Level(0.0)), 6.5);
        let border = sampler(Filter::LinearPoint, Address::Zero);
        assert_eq!(value(border, [1.0, 0.25], Detail::Level(0.0)), 1.5);
        let both = sampler(Filter::LinearLinear, Address::Edge);
        assert_eq!(value(both, [0.375, 0.25], Detail::Level(0.5)), (1.0 + 100.25) / 2.0);
    }

    #[test]
    fn gradients_choose_the_level() {
        let s = sampler(Filter::Point, Address::Edge);
        let gradients = |x: f32, y: f32, least| Detail::Gradients {
            ddx: [x, 0.0, 0.0],
            ddy: [0.0, y, 0.0],
            least,
        };
        assert_eq!(value(s, [0.0, 0.0], gradients(0.25, 0.5, 0.0)), 0.0);
        assert_eq!(value(s, [0.0, 0.0], gradients(0.5, 0.5, 0.0)), 100.0);
        assert_eq!(value(s, [0.0, 0.0], gradients(0.0, 0.0, 0.0)), 0.0);
        assert_eq!(value(s, [0.0, 0.0], gradients(0.01, 0.01, 2.0)), 200.0);
    }

    #[test]
    fn anisotropy_keeps_the_level_of_the_shorter_gradient() {
        let s = sampler(Filter::Anisotropic, Address::Edge);
        let wide = Detail::Gradients { ddx: [1.0, 0.0, 0.0], ddy: [0.0, 0.5, 0.0], least: 0.0 };
        // Four taps between 0.3 and 0.7 of the width, all on level 0.
        let taps = [0.2, 0.4, 0.6, 0.8].map(|u: f32| u * 4.0 - 0.5);
        let mean = taps.map(|x: f32| x.clamp(0.0, 3.0)).iter().sum::<f32>() / 4.0;
        assert!((value(s, [0.5, 0.25], wide) - mean).abs() < 1e-5);
        // Without a gradient there is one tap.
        let none = Detail::Gradients { ddx: [0.0; 3], ddy: [0.0; 3], least: 0.0 };
        assert_eq!(value(s, [0.375, 0.25], none), 1.0);
    }
}
