//! One kernel as long as one likes, in the form and layout that LuisaCompute's dump has: the loop of a grid transfer,
//! unrolled by the recorder, every temporary a variable of its own that is set to zero first.

use std::io::{self, Write};

/// Types of the document, by position.
mod ty {
    pub const FLOAT: u32 = 0;
    pub const FLOAT3: u32 = 1;
    pub const BUFFER: u32 = 2;
    pub const UINT: u32 = 3;
    pub const UINT3: u32 = 4;
    pub const INT: u32 = 5;
    pub const INT3: u32 = 6;
    pub const VOID: u32 = 7;
}

/// Variables of the kernel before those of its steps.
const GRID: u32 = 0;
const OUT: u32 = 1;
const DISPATCH_ID: u32 = 2;
const POSITION: u32 = 3;
const SUM: u32 = 4;
const FIRST_FREE: u32 = 5;

/// Types of the variables of one step.
const STEP: [u32; 9] =
    [ty::INT3, ty::INT, ty::INT, ty::INT, ty::FLOAT, ty::UINT, ty::FLOAT, ty::FLOAT, ty::FLOAT];

/// Writes a document of about `len` bytes; the same one for the same length.
///
/// # Errors
/// Those of the writer.
pub fn write(out: impl Write, len: u64) -> io::Result<()> {
    // What a step takes depends on the digits of its numbers, hardly on anything else.
    let probe = 1000;
    let mut counted = Counter::default();
    document(&mut counted, probe)?;
    let steps = len * u64::from(probe) / counted.0;
    document(out, steps.max(1).try_into().unwrap_or(u32::MAX))
}

/// A kernel of `steps` steps.
fn document(out: impl Write, steps: u32) -> io::Result<()> {
    let mut w = Pretty { out, depth: 0, fresh: true };
    w.open("", '{')?;
    w.open("functions", '[')?;
    w.open("", '{')?;
    variables(&mut w, steps)?;
    w.text("tag", "KERNEL")?;
    w.raw("curve_bases", "[]")?;
    w.open("arguments", '[')?;
    w.number("", GRID)?;
    w.number("", OUT)?;
    w.close(']')?;
    w.raw("bound_arguments", "[]")?;
    w.open("block_size", '[')?;
    for size in [64, 1, 1] {
        w.number("", size)?;
    }
    w.close(']')?;
    w.open("body", '{')?;
    w.text("tag", "SCOPE")?;
    w.open("statements", '[')?;
    w.assign(ty::FLOAT3, POSITION, |w| w.literal("rhs", ty::FLOAT3, "AACAPwAAAEAAAEBAAAAAAA=="))?;
    w.assign(ty::FLOAT, SUM, |w| w.literal("rhs", ty::FLOAT, "AAAAAA=="))?;
    for step in 0..steps {
        unrolled_step(&mut w, step)?;
    }
    store(&mut w)?;
    w.close(']')?;
    w.close('}')?;
    w.raw("constants", "[]")?;
    w.close('}')?;
    w.close(']')?;
    types(&mut w)?;
    w.number("entry", 0)?;
    w.close('}')?;
    w.out.flush()
}

fn variables<W: Write>(w: &mut Pretty<W>, steps: u32) -> io::Result<()> {
    w.open("variables", '[')?;
    w.variable("BUFFER", ty::BUFFER)?;
    w.variable("BUFFER", ty::BUFFER)?;
    w.variable("DISPATCH_ID", ty::UINT3)?;
    w.variable("LOCAL", ty::FLOAT3)?;
    w.variable("LOCAL", ty::FLOAT)?;
    for _ in 0..steps {
        for ty in STEP {
            w.variable("LOCAL", ty)?;
        }
    }
    w.close(']')
}

/// The temporaries of one grid node: offset, its components, weight, index, value, product, sum.
fn unrolled_step<W: Write>(w: &mut Pretty<W>, step: u32) -> io::Result<()> {
    let first = FIRST_FREE + step * STEP.len() as u32;
    let [offset, x, y, z, weight, index, value, product, sum] =
        std::array::from_fn(|i| first + i as u32);
    w.zeroed(ty::INT3, offset, |w| {
        w.call("rhs", ty::INT3, "MAKE_INT3", |w| {
            for shift in [0, 8, 16] {
                w.literal("", ty::INT, &base64_int(step >> shift & 0xff))?;
            }
            Ok(())
        })
    })?;
    for (variable, component) in [(x, "x"), (y, "y"), (z, "z")] {
        w.zeroed(ty::INT, variable, |w| w.component("rhs", ty::INT, ty::INT3, offset, component))?;
    }
    w.zeroed(ty::FLOAT, weight, |w| {
        w.binary(
            "rhs",
            ty::FLOAT,
            "MUL",
            |w| w.component("lhs", ty::FLOAT, ty::FLOAT3, POSITION, "x"),
            |w| {
                w.node("rhs", "ACCESS", ty::FLOAT)?;
                w.reference("range", ty::FLOAT3, POSITION)?;
                w.literal("index", ty::INT, &base64_int(step % 3))?;
                w.close('}')
            },
        )
    })?;
    w.zeroed(ty::UINT, index, |w| {
        w.node("rhs", "CAST", ty::UINT)?;
        w.text("op", "STATIC")?;
        w.reference("expression", ty::INT, x)?;
        w.close('}')
    })?;
    w.assign(ty::UINT, index, |w| {
        w.binary(
            "rhs",
            ty::UINT,
            "ADD",
            |w| w.reference("lhs", ty::UINT, index),
            |w| w.component("rhs", ty::UINT, ty::UINT3, DISPATCH_ID, "x"),
        )
    })?;
    w.zeroed(ty::FLOAT, value, |w| {
        w.call("rhs", ty::FLOAT, "BUFFER_READ", |w| {
            w.reference("", ty::BUFFER, GRID)?;
            w.reference("", ty::UINT, index)
        })
    })?;
    for (result, op, lhs, rhs) in [(product, "MUL", value, weight), (sum, "ADD", SUM, product)] {
        w.zeroed(ty::FLOAT, result, |w| {
            w.binary(
                "rhs",
                ty::FLOAT,
                op,
                |w| w.reference("lhs", ty::FLOAT, lhs),
                |w| w.reference("rhs", ty::FLOAT, rhs),
            )
        })?;
    }
    w.assign(ty::FLOAT, SUM, |w| w.reference("rhs", ty::FLOAT, sum))
}

fn store<W: Write>(w: &mut Pretty<W>) -> io::Result<()> {
    w.open("", '{')?;
    w.text("tag", "EXPR")?;
    w.call("expression", ty::VOID, "BUFFER_WRITE", |w| {
        w.reference("", ty::BUFFER, OUT)?;
        w.component("", ty::UINT, ty::UINT3, DISPATCH_ID, "x")?;
        w.reference("", ty::FLOAT, SUM)
    })?;
    w.close('}')
}

fn types<W: Write>(w: &mut Pretty<W>) -> io::Result<()> {
    w.open("types", '[')?;
    // (tag, element, dimension), in the order of `ty`.
    let rows = [
        ("FLOAT32", None, None),
        ("VECTOR", Some(ty::FLOAT), Some(3)),
        ("BUFFER", Some(ty::FLOAT), None),
        ("UINT32", None, None),
        ("VECTOR", Some(ty::UINT), Some(3)),
        ("INT32", None, None),
        ("VECTOR", Some(ty::INT), Some(3)),
    ];
    for (tag, element, dimension) in rows {
        w.open("", '{')?;
        w.text("tag", tag)?;
        if let Some(element) = element {
            w.number("element", element)?;
        }
        if let Some(dimension) = dimension {
            w.number("dimension", dimension)?;
        }
        w.close('}')?;
    }
    w.raw("", "null")?;
    w.close(']')
}

/// Four little-endian bytes of a number below 256, in base64.
fn base64_int(value: u32) -> String {
    let digit = |bits: u32| {
        char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[bits as usize],
        )
    };
    format!("{}{}AAAA==", digit(value >> 2), digit((value & 3) << 4))
}

/// Counts bytes.
#[derive(Default)]
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// JSON with two blanks a level. An empty key is an item of an array.
struct Pretty<W> {
    out: W,
    depth: usize,
    /// Nothing has been written into the innermost bracket.
    fresh: bool,
}

impl<W: Write> Pretty<W> {
    fn line(&mut self) -> io::Result<()> {
        const BLANKS: &[u8] = &[b' '; 64];
        self.out.write_all(b"\n")?;
        self.out.write_all(&BLANKS[..(2 * self.depth).min(BLANKS.len())])
    }

    fn key(&mut self, key: &str) -> io::Result<()> {
        if self.depth > 0 {
            if !std::mem::take(&mut self.fresh) {
                self.out.write_all(b",")?;
            }
            self.line()?;
        }
        if key.is_empty() { Ok(()) } else { write!(self.out, "\"{key}\": ") }
    }

    fn raw(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(value.as_bytes())
    }

    fn text(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "\"{value}\"")
    }

    fn number(&mut self, key: &str, value: u32) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "{value}")
    }

    fn open(&mut self, key: &str, bracket: char) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "{bracket}")?;
        self.depth += 1;
        self.fresh = true;
        Ok(())
    }

    fn close(&mut self, bracket: char) -> io::Result<()> {
        self.depth -= 1;
        self.fresh = false;
        self.line()?;
        write!(self.out, "{bracket}")
    }

    fn variable(&mut self, tag: &str, ty: u32) -> io::Result<()> {
        self.open("", '{')?;
        self.text("tag", tag)?;
        self.number("type", ty)?;
        self.close('}')
    }

    /// Opens an expression.
    fn node(&mut self, key: &str, tag: &str, ty: u32) -> io::Result<()> {
        self.open(key, '{')?;
        self.text("tag", tag)?;
        self.number("type", ty)
    }

    fn reference(&mut self, key: &str, ty: u32, variable: u32) -> io::Result<()> {
        self.node(key, "REF", ty)?;
        self.number("variable", variable)?;
        self.close('}')
    }

    fn literal(&mut self, key: &str, ty: u32, base64: &str) -> io::Result<()> {
        self.node(key, "LITERAL", ty)?;
        self.text("value", base64)?;
        self.close('}')
    }

    fn component(
        &mut self,
        key: &str,
        ty: u32,
        vector: u32,
        variable: u32,
        swizzle: &str,
    ) -> io::Result<()> {
        self.node(key, "MEMBER", ty)?;
        self.reference("self", vector, variable)?;
        self.text("swizzle", swizzle)?;
        self.close('}')
    }

    fn binary(
        &mut self,
        key: &str,
        ty: u32,
        op: &str,
        lhs: impl FnOnce(&mut Self) -> io::Result<()>,
        rhs: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.node(key, "BINARY", ty)?;
        lhs(self)?;
        rhs(self)?;
        self.text("op", op)?;
        self.close('}')
    }

    fn call(
        &mut self,
        key: &str,
        ty: u32,
        op: &str,
        arguments: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.node(key, "CALL", ty)?;
        self.text("op", op)?;
        self.open("arguments", '[')?;
        arguments(self)?;
        self.close(']')?;
        self.close('}')
    }

    fn assign(
        &mut self,
        ty: u32,
        variable: u32,
        rhs: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.open("", '{')?;
        self.text("tag", "ASSIGN")?;
        self.reference("lhs", ty, variable)?;
        rhs(self)?;
        self.close('}')
    }

    /// Zero, then the value: so the recorder declares a variable.
    fn zeroed(
        &mut self,
        ty: u32,
        variable: u32,
        rhs: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        let zero = match ty {
            ty::INT3 => "AAAAAAAAAAAAAAAAAAAAAA==",
            _ => "AAAAAA==",
        };
        self.assign(ty, variable, |w| w.literal("rhs", ty, zero))?;
        self.assign(ty, variable, rhs)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_long_as_asked_for_and_the_same_again() {
        for len in [100_000, 1_000_000] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            super::write(&mut a, len).expect("memory can be written");
            super::write(&mut b, len).expect("memory can be written");
            assert_eq!(a, b);
            assert!(a.len().abs_diff(len as usize) < len as usize / 10, "{} for {len}", a.len());
        }
    }
}
