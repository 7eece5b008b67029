//! Statements.

use cranelift_entity::packed_option::PackedOption;

use super::{ExprId, ExprList, StmtId, StmtList, TextRange};

/// A statement. Every body is a [`Stmt::Scope`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Leaves the nearest enclosing loop or switch.
    Break,
    /// Goes on with the nearest enclosing loop.
    Continue,
    /// Leaves the function.
    Return(PackedOption<ExprId>),
    /// Statements in order.
    Scope(StmtList),
    /// Two ways.
    If {
        /// `bool`, or converted to it.
        condition: ExprId,
        /// Scope for true.
        on_true: StmtId,
        /// Scope for false, possibly empty.
        on_false: StmtId,
    },
    /// Repeats until left.
    Loop {
        /// Scope.
        body: StmtId,
    },
    /// Evaluates for effect.
    Expr(ExprId),
    /// Many ways.
    Switch {
        /// An integer.
        value: ExprId,
        /// Scope of cases, at most one default, and comments.
        body: StmtId,
    },
    /// One way of a switch; never falls through.
    SwitchCase {
        /// An integer literal: see [`Function::case_value`](super::Function::case_value).
        value: ExprId,
        /// Scope.
        body: StmtId,
    },
    /// The way of a switch for all other values.
    SwitchDefault {
        /// Scope.
        body: StmtId,
    },
    /// Stores `rhs`, converted to the type of `lhs`.
    Assign {
        /// Where.
        lhs: ExprId,
        /// What.
        rhs: ExprId,
    },
    /// `while (condition) { body; variable += step; }`
    For {
        /// Something that can be assigned.
        variable: ExprId,
        /// Evaluated before each round.
        condition: ExprId,
        /// Added after each round.
        step: ExprId,
        /// Scope.
        body: StmtId,
    },
    /// Text for the reader.
    Comment(TextRange),
    /// Runs a ray query, with a scope for each kind of candidate.
    RayQuery {
        /// The query object.
        query: ExprId,
        /// Scope for a triangle.
        on_triangle: StmtId,
        /// Scope for a procedural primitive.
        on_procedural: StmtId,
    },
    /// Differentiates the body.
    AutoDiff {
        /// Scope.
        body: StmtId,
    },
    /// Prints.
    Print {
        /// `{}` stands for the next argument.
        format: TextRange,
        /// Values.
        arguments: ExprList,
    },
    /// Suspends a coroutine.
    Suspend {
        /// Number of the suspension point.
        token: u32,
        /// Its name.
        name: TextRange,
    },
    /// Stops in a debugger.
    DebugBreak {
        /// Values to show.
        watches: ExprList,
    },
}
