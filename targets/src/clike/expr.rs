//! Expressions as text that knows how strongly it binds.

/// How strongly an operator binds; more is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prec {
    Conditional,
    LogicalOr,
    LogicalAnd,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relation,
    Shift,
    Add,
    Multiply,
    Unary,
    /// Names, literals, calls, members.
    Atom,
}

/// The text of a value.
#[derive(Clone, Debug)]
pub struct Expr {
    pub text: String,
    pub prec: Prec,
    /// It reads memory that a later statement may write.
    pub reads: bool,
    /// It is a sum, product or the like of floats, which must be rounded by itself under `--math precise`.
    pub rounds: bool,
    /// Operators on top of each other.
    pub depth: u16,
    /// The unsigned number that this is a conversion of.
    pub unsigned: Option<Box<Expr>>,
}

/// Longest text and deepest nest of an expression within another one.
const LONGEST: usize = 100;
const DEEPEST: u16 = 12;

impl Expr {
    /// Something that needs no parentheses and no new name.
    pub fn atom(text: impl Into<String>) -> Expr {
        Expr {
            text: text.into(),
            prec: Prec::Atom,
            reads: false,
            rounds: false,
            depth: 0,
            unsigned: None,
        }
    }

    /// The text, in parentheses if it binds less strongly than `prec`.
    pub fn at(&self, prec: Prec) -> String {
        if self.prec < prec { format!("({})", self.text) } else { self.text.clone() }
    }

    /// Whether it may stand within another expression.
    pub fn is_short(&self) -> bool {
        self.text.len() <= LONGEST && self.depth < DEEPEST
    }

    /// An expression made of others.
    pub fn made<'a>(
        text: impl Into<String>,
        prec: Prec,
        parts: impl IntoIterator<Item = &'a Expr>,
    ) -> Expr {
        let mut made = Expr { prec, ..Expr::atom(text) };
        for part in parts {
            made.reads |= part.reads;
            made.depth = made.depth.max(part.depth);
        }
        made.depth += 1;
        made
    }

    /// `function(a, b)`
    pub fn call(function: &str, args: &[Expr]) -> Expr {
        let list: Vec<&str> = args.iter().map(|a| a.text.as_str()).collect();
        Expr::made(format!("{function}({})", list.join(", ")), Prec::Atom, args)
    }

    /// `a op b`. Operators of bits and shifts keep other operators in parentheses, as people write them.
    pub fn binary(op: &str, prec: Prec, a: &Expr, b: &Expr) -> Expr {
        let clear = match prec {
            Prec::BitAnd | Prec::BitXor | Prec::BitOr | Prec::Shift => Prec::Unary,
            Prec::LogicalOr => Prec::BitOr,
            Prec::Equality => Prec::Shift,
            _ => prec,
        };
        let chain = matches!(prec, Prec::BitAnd | Prec::BitXor | Prec::BitOr | Prec::LogicalOr);
        let left = if chain && a.prec == prec { a.text.clone() } else { a.at(clear) };
        let tighter = if clear == prec { next(prec) } else { clear };
        Expr::made(format!("{left} {op} {}", b.at(tighter)), prec, [a, b])
    }

    /// `op a`
    pub fn unary(op: &str, a: &Expr) -> Expr {
        let inner =
            if a.text.starts_with(op) { format!("({})", a.text) } else { a.at(Prec::Unary) };
        Expr::made(format!("{op}{inner}"), Prec::Unary, [a])
    }

    /// `a.member`, `a[index]` and the like.
    pub fn postfix(&self, suffix: &str) -> Expr {
        let mut made = Expr::made(format!("{}{suffix}", self.at(Prec::Atom)), Prec::Atom, [self]);
        made.depth = self.depth;
        made
    }

    /// `condition ? yes : no`
    pub fn conditional(condition: &Expr, yes: &Expr, no: &Expr) -> Expr {
        let text = format!(
            "{} ? {} : {}",
            condition.at(Prec::LogicalOr),
            yes.at(Prec::LogicalOr),
            no.at(Prec::LogicalOr)
        );
        Expr::made(text, Prec::Conditional, [condition, yes, no])
    }

    /// `!a`, or the opposite comparison.
    pub fn not(&self) -> Expr {
        match self.text.strip_prefix('!') {
            Some(inner) if self.prec == Prec::Unary => {
                Expr { text: inner.to_string(), prec: Prec::Unary, ..self.clone() }
            }
            _ => Expr::unary("!", self),
        }
    }
}

/// The next stronger binding.
fn next(prec: Prec) -> Prec {
    match prec {
        Prec::Conditional => Prec::LogicalOr,
        Prec::LogicalOr => Prec::LogicalAnd,
        Prec::LogicalAnd => Prec::BitOr,
        Prec::BitOr => Prec::BitXor,
        Prec::BitXor => Prec::BitAnd,
        Prec::BitAnd => Prec::Equality,
        Prec::Equality => Prec::Relation,
        Prec::Relation => Prec::Shift,
        Prec::Shift => Prec::Add,
        Prec::Add => Prec::Multiply,
        Prec::Multiply => Prec::Unary,
        Prec::Unary | Prec::Atom => Prec::Atom,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_stand_where_they_are_needed() {
        let [a, b, c] = ["a", "b", "c"].map(Expr::atom);
        let sum = Expr::binary("+", Prec::Add, &a, &b);
        let difference = Expr::binary("-", Prec::Add, &c, &sum);
        assert_eq!(difference.text, "c - (a + b)");
        assert_eq!(Expr::binary("-", Prec::Add, &sum, &c).text, "a + b - c");
        assert_eq!(Expr::binary("*", Prec::Multiply, &sum, &c).text, "(a + b) * c");
        assert_eq!(Expr::binary("<<", Prec::Shift, &sum, &c).text, "(a + b) << c");
        let and = Expr::binary("&", Prec::BitAnd, &a, &b);
        assert_eq!(Expr::binary("&", Prec::BitAnd, &and, &c).text, "a & b & c");
        assert_eq!(Expr::binary("|", Prec::BitOr, &and, &c).text, "(a & b) | c");
        assert_eq!(Expr::binary("==", Prec::Equality, &and, &c).text, "(a & b) == c");
        let minus = Expr { prec: Prec::Unary, ..Expr::atom("-1.0f") };
        assert_eq!(Expr::unary("-", &minus).text, "-(-1.0f)");
        assert_eq!(Expr::binary("-", Prec::Add, &a, &minus).text, "a - -1.0f");
        assert_eq!(minus.postfix(".x").text, "(-1.0f).x");
        assert_eq!(Expr::unary("!", &a).not().text, "a");
    }
}
