//! How images are sampled.

/// How texels between the given ones are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel of the nearest level.
    #[default]
    Point,
    /// Linear between texels of the nearest level.
    LinearPoint,
    /// Linear between texels and between levels.
    LinearLinear,
    /// As [`Filter::LinearLinear`], up to 16 times along the longer of the two gradients.
    Anisotropic,
}

/// What lies outside an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Address {
    /// The texel at the edge.
    #[default]
    Edge,
    /// The image again.
    Repeat,
    /// The image again, mirrored.
    Mirror,
    /// Zero in all channels.
    Zero,
}

/// How an image is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Between texels.
    pub filter: Filter,
    /// Outside.
    pub address: Address,
}

impl Sampler {
    /// The sampler's number: `filter * 4 + address`.
    #[must_use]
    pub fn code(self) -> u32 {
        self.filter as u32 * 4 + self.address as u32
    }

    /// The sampler of a number below 16.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        let filters =
            [Filter::Point, Filter::LinearPoint, Filter::LinearLinear, Filter::Anisotropic];
        let addresses = [Address::Edge, Address::Repeat, Address::Mirror, Address::Zero];
        let filter = *filters.get(code as usize / 4)?;
        Some(Self { filter, address: addresses[code as usize % 4] })
    }
}
