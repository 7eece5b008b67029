//! NumPy's `.npy` form, written and read apart from the code under test.

/// An array of scalars in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// NumPy's name without the byte order: `u1`, `f4`.
    pub element: String,
    pub shape: Vec<usize>,
    /// The bits of each scalar.
    pub bits: Vec<u64>,
}

impl Array {
    pub fn new(element: &str, shape: impl Into<Vec<usize>>, bits: Vec<u64>) -> Array {
        Array { element: element.into(), shape: shape.into(), bits }
    }

    fn width(element: &str) -> usize {
        element[1..].parse().expect("a width")
    }

    /// The file: version 1.0, header padded to 64 bytes, little-endian data.
    pub fn to_bytes(&self) -> Vec<u8> {
        let width = Array::width(&self.element);
        let order = if width == 1 { '|' } else { '<' };
        let shape: String = self.shape.iter().map(|n| format!("{n}, ")).collect();
        let mut header = format!(
            "{{'descr': '{order}{}', 'fortran_order': False, 'shape': ({}), }}",
            self.element,
            shape.trim_end()
        );
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        self.bits.iter().for_each(|b| file.extend(&b.to_le_bytes()[..width]));
        file
    }

    /// Reads what [`Array::to_bytes`] or the program wrote.
    pub fn from_bytes(file: &[u8]) -> Result<Array, String> {
        if !file.starts_with(b"\x93NUMPY") || file.len() < 12 {
            return Err("no npy file".into());
        }
        let (start, length) = match file[6] {
            1 => (10, usize::from(u16::from_le_bytes([file[8], file[9]]))),
            _ => (12, u32::from_le_bytes([file[8], file[9], file[10], file[11]]) as usize),
        };
        let header =
            String::from_utf8_lossy(file.get(start..start + length).ok_or("a short header")?)
                .into_owned();
        let element =
            header.split('\'').nth(3).ok_or("no descr")?.trim_start_matches(['<', '|']).to_owned();
        let shape = header.split(['(', ')']).nth(1).ok_or("no shape")?;
        let shape = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect::<Vec<usize>>();
        let width = Array::width(&element);
        let bits: Vec<u64> = file[start + length..]
            .chunks(width)
            .map(|c| {
                let mut word = [0; 8];
                word[..c.len()].copy_from_slice(c);
                u64::from_le_bytes(word)
            })
            .collect();
        if bits.len() != shape.iter().product::<usize>() {
            return Err(format!("{} scalars under the shape {shape:?}", bits.len()));
        }
        Ok(Array { element, shape, bits })
    }
}
