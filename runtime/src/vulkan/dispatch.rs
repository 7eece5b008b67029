//! Running a launch, and reading what it logged.

use ash::vk;
use luisac_artifact::abi::LOG_FAULT_LOST;

use super::{Buffer, Launch};
use crate::{Metadata, Output, RuntimeError, log};

/// Parts that a dispatch may be split into. Each axis has at least 65,535 blocks a part, so that nobody meets this who could wait
/// for the end.
const MOST_PARTS: u64 = 1 << 20;

/// The first block and the number of blocks of each part of a dispatch.
pub(super) type Parts = Vec<([u32; 3], [u32; 3])>;

impl Launch {
    /// Runs the kernel over `size` threads along x, y, z, and returns when it has ended. A zero means no launch.
    ///
    /// # Errors
    /// [`RuntimeError::Assert`] or [`RuntimeError::OutOfBounds`] if a thread stopped; the other threads ran.
    pub fn dispatch(&mut self, size: [u32; 3]) -> Result<Output, RuntimeError> {
        let mut lines = Vec::new();
        let lost = self.dispatch_logged(size, &mut |line| lines.push(line.to_owned()))?;
        Ok(Output { lines, lost })
    }

    /// As [`Self::dispatch`], but gives each printed line to `print`, also those of a dispatch that fails. Returns the bytes of
    /// records that found no room.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub fn dispatch_logged(
        &mut self,
        size: [u32; 3],
        print: &mut dyn FnMut(&str),
    ) -> Result<u64, RuntimeError> {
        if size.contains(&0) {
            return Ok(0);
        }
        let parts = parts(
            size,
            self.kernel.metadata().block_size,
            self.kernel.0.device.limits.max_compute_work_group_count,
        )
        .ok_or(RuntimeError::GridTooLarge(size))?;
        self.prepare(size)?;
        let kernel = &self.kernel.0;
        kernel.device.submit(|device, commands| {
            // SAFETY: pipeline, layout and sets belong together; everything they reach is held by the launch.
            unsafe {
                device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, kernel.pipeline);
                device.cmd_bind_descriptor_sets(
                    commands,
                    vk::PipelineBindPoint::COMPUTE,
                    kernel.layout,
                    0,
                    &self.sets,
                    &[0],
                );
                for ([x, y, z], [w, h, d]) in parts {
                    device.cmd_dispatch_base(commands, x, y, z, w, h, d);
                }
            }
        })?;
        self.read_log(print)
    }

    fn read_log(&self, print: &mut dyn FnMut(&str)) -> Result<u64, RuntimeError> {
        let Some(log) = &self.log else { return Ok(0) };
        let mut used = [0; 8];
        log.download(0, &mut used)?;
        read_log(log, u64::from_le_bytes(used), &self.kernel.0.metadata, print)
    }
}

/// Reads a log that begins with `used`, and empties it.
pub(super) fn read_log(
    log: &Buffer,
    used: u64,
    metadata: &Metadata,
    print: &mut dyn FnMut(&str),
) -> Result<u64, RuntimeError> {
    let written = used & !LOG_FAULT_LOST;
    let mut bytes = vec![0; 8 + written.min(log.len() - 8) as usize];
    log.download(0, &mut bytes)?;
    // So that a later dispatch whose last record finds no room does not end with one of these.
    log.0.clear(0, bytes.len() as u64)?;
    log::decode(metadata, &bytes, print)
}

/// Splits a dispatch into parts of at most `most` blocks on each axis; nothing if there are too many.
pub(super) fn parts(size: [u32; 3], block: [u32; 3], most: [u32; 3]) -> Option<Parts> {
    let mut grid = [0; 3];
    let mut count = 1u64;
    for axis in 0..3 {
        grid[axis] = size[axis].div_ceil(block[axis].max(1));
        count = count.checked_mul(u64::from(grid[axis].div_ceil(most[axis].max(1))))?;
    }
    if count > MOST_PARTS {
        return None;
    }
    let axis = |i: usize| {
        let step = most[i].max(1);
        (0..grid[i].div_ceil(step)).map(move |n| (n * step, step.min(grid[i] - n * step)))
    };
    let mut parts = Vec::new();
    for (z, d) in axis(2) {
        for (y, h) in axis(1) {
            parts.extend(axis(0).map(|(x, w)| ([x, y, z], [w, h, d])));
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn one_part_where_the_limit_allows() {
        assert_eq!(parts([100, 7, 1], [64, 1, 1], [65535; 3]), Some(vec![([0; 3], [2, 7, 1])]));
    }

    #[test]
    fn parts_cover_the_grid_once() {
        let parts = parts([23, 9, 5], [2, 2, 2], [5, 2, 2]).expect("few parts");
        let mut seen = std::collections::BTreeSet::new();
        for (first, count) in parts {
            assert!(count[0] <= 5 && count[1] <= 2 && count[2] <= 2);
            for z in 0..count[2] {
                for y in 0..count[1] {
                    for x in 0..count[0] {
                        assert!(seen.insert([first[0] + x, first[1] + y, first[2] + z]));
                    }
                }
            }
        }
        assert_eq!(seen.len(), 12 * 5 * 3);
        assert_eq!(seen.last(), Some(&[11, 4, 2]));
    }

    #[test]
    fn a_grid_beyond_all_patience_is_refused() {
        assert_eq!(parts([u32::MAX; 3], [1; 3], [65535; 3]), None);
        assert!(parts([u32::MAX, 1, 1], [1; 3], [65535; 3]).is_some());
    }
}
