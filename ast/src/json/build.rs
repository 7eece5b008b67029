//! From the members of an object to the expression or statement that it stands for.

use super::codes;
use super::keys::{Key, Tag};
use super::lexer::{Lexed, Span};
use super::nodes::{Frame, NO_CHILD};
use super::reader::{Reader, function_id, shorten};
use super::spelling::suggestion;
use crate::callops::CallOp;
use crate::layout;
use crate::model::{
    BinaryOp, ByteRange, Callee, CastOp, Expr, ExprId, ExprKind, Function, Stmt, StmtId, Swizzle,
    TextRange, UnaryOp, VariableId,
};
use crate::types::TypeId;

/// Slots of the texts of a frame, see the table of keys.
const MAIN: usize = 0;
const OP: usize = 1;

impl Reader<'_> {
    /// The expression of a frame whose members are complete; `None` if they are wrong, which is reported.
    pub fn make_expr(&mut self, function: &mut Function, frame: &Frame) -> Lexed<Option<Expr>> {
        let ty = self.resolve_type(frame.ty, frame.start as usize);
        let kind = match frame.tag {
            Tag::Ref => self.make_ref(frame),
            Tag::Literal => return self.make_literal(function, frame, ty),
            Tag::Unary => {
                let operand = self.expr(frame, Key::Operand);
                self.op(frame, UnaryOp::from_name, None)?
                    .zip(operand)
                    .map(|(op, operand)| ExprKind::Unary { op, operand })
            }
            Tag::Binary => {
                let operands = self.expr(frame, Key::Lhs).zip(self.expr(frame, Key::Rhs));
                let op = self.op(frame, BinaryOp::from_name, None)?;
                op.zip(operands).map(|(op, (lhs, rhs))| ExprKind::Binary { op, lhs, rhs })
            }
            Tag::Cast => {
                let source = self.expr(frame, Key::Expression);
                self.op(frame, CastOp::from_name, None)?
                    .zip(source)
                    .map(|(op, source)| ExprKind::Cast { op, source })
            }
            Tag::Access => {
                let operands = self.expr(frame, Key::Range).zip(self.expr(frame, Key::Index));
                operands.map(|(range, index)| ExprKind::Access { range, index })
            }
            Tag::MemberOf => self.make_member(frame)?,
            Tag::Call => self.make_call(frame)?,
            Tag::Constant => {
                let index = self.constant_index(frame.number, frame.number_at as usize);
                index.map(ExprKind::Constant)
            }
            Tag::TypeId => {
                let index = self.index(frame, "`data_type`");
                index.map(|index| {
                    ExprKind::TypeId(self.resolve_type(index, frame.number_at as usize))
                })
            }
            Tag::StringId => Some(ExprKind::StringId(self.text(function, frame.texts[MAIN])?)),
            Tag::FuncRef => self.make_func_ref(frame),
            Tag::CpuCustom => self.make_cpu_custom(function, frame)?,
            _ => {
                let message = format!("a `{}` cannot be read", frame.tag.name());
                self.report.error(codes::UNPORTABLE, frame.start as usize, message);
                None
            }
        };
        Ok(kind.map(|kind| Expr { ty, kind }))
    }

    fn expr(&mut self, frame: &Frame, key: Key) -> Option<ExprId> {
        self.required_child(frame, key).map(ExprId::from_u32)
    }

    fn stmt(&mut self, frame: &Frame, key: Key) -> Option<StmtId> {
        self.required_child(frame, key).map(StmtId::from_u32)
    }

    fn op<T>(
        &mut self,
        frame: &Frame,
        from_name: impl Fn(&str) -> Option<T>,
        names: impl IntoIterator<Item = &'static str>,
    ) -> Lexed<Option<T>> {
        let span = frame.texts[OP];
        let name = self.lexer.decode(span)?;
        let op = from_name(&name);
        if op.is_none() {
            let meant = suggestion(&name, names);
            let message =
                format!("`{}` is no operation of a `{}`{meant}", shorten(&name), frame.tag.name());
            self.report.error(codes::UNKNOWN_NAME, span.start as usize, message);
        }
        Ok(op)
    }

    fn text(&mut self, function: &mut Function, span: Span) -> Lexed<TextRange> {
        let text = self.lexer.decode(span)?;
        Ok(function.add_text(&text))
    }

    fn index(&mut self, frame: &Frame, what: &str) -> Option<u32> {
        let index = u32::try_from(frame.number).ok().filter(|i| *i != u32::MAX);
        if index.is_none() {
            let message = format!("{what} is {}, which is no index", frame.number);
            self.report.error(codes::BAD_NUMBER, frame.number_at as usize, message);
        }
        index
    }

    fn make_ref(&mut self, frame: &Frame) -> Option<ExprKind> {
        if frame.children[0] != NO_CHILD || frame.number_at == frame.start {
            let message = "`variable` of a `REF` must be an integer";
            self.report.error(codes::WRONG_TYPE, frame.start as usize, message);
            return None;
        }
        let index = self.index(frame, "`variable`")?;
        if self.nodes.largest_variable.is_none_or(|(largest, _)| index > largest) {
            self.nodes.largest_variable = Some((index, frame.number_at as usize));
        }
        Some(ExprKind::Ref(VariableId::from_u32(index)))
    }

    fn make_literal(
        &mut self,
        function: &mut Function,
        frame: &Frame,
        ty: TypeId,
    ) -> Lexed<Option<Expr>> {
        let span = frame.texts[MAIN];
        if span == Span::default() {
            self.report.error(
                codes::WRONG_TYPE,
                frame.start as usize,
                "`value` of a `LITERAL` must be a string",
            );
            return Ok(None);
        }
        let errors = self.report.len();
        if !self.base64(span, "the literal")? {
            return Ok(None);
        }
        if self.ahead.on {
            let bytes = function.add_bytes(&self.scratch);
            return Ok(Some(Expr { ty, kind: ExprKind::Literal { bytes } }));
        }
        let types = &self.library.types;
        let (size, len) = (types.size(ty), self.scratch.len());
        if !types.is_data(ty) {
            // A type that is wrong by itself has been reported.
            if errors == 0 {
                let message = format!("a literal cannot be of type `{}`", types.description(ty));
                self.report.error(codes::BAD_TYPE, frame.start as usize, message);
            }
            return Ok(None);
        }
        if len as u64 != size {
            let message = format!(
                "the literal has {len} bytes, but a `{}` has {size}",
                types.description(ty)
            );
            self.report.error(codes::LITERAL_SIZE, span.start as usize, message);
            return Ok(None);
        }
        layout::clear_padding(types, ty, &mut self.scratch);
        let bytes = function.add_bytes(&self.scratch);
        Ok(Some(Expr { ty, kind: ExprKind::Literal { bytes } }))
    }

    fn make_member(&mut self, frame: &Frame) -> Lexed<Option<ExprKind>> {
        let Some(base) = self.expr(frame, Key::This) else {
            return Ok(None);
        };
        let swizzled = frame.seen & Key::Swizzle.bit() != 0;
        if swizzled == (frame.seen & Key::Member.bit() != 0) {
            let message = "a `MEMBER` has either `swizzle` or `member`";
            self.report.error(codes::MISSING_MEMBER, frame.start as usize, message);
            return Ok(None);
        }
        if !swizzled {
            return Ok(self.index(frame, "`member`").map(|index| ExprKind::Member { base, index }));
        }
        let span = frame.texts[MAIN];
        let text = self.lexer.decode(span)?;
        let swizzle = Swizzle::parse(&text);
        if swizzle.is_none() {
            let message =
                format!("`{}` is no swizzle: one to four letters of `xyzw`", shorten(&text));
            self.report.error(codes::UNKNOWN_NAME, span.start as usize, message);
        }
        Ok(swizzle.map(|swizzle| ExprKind::Swizzle { base, swizzle }))
    }

    fn make_call(&mut self, frame: &Frame) -> Lexed<Option<ExprKind>> {
        let Some(op) = self.op(frame, CallOp::from_name, CallOp::all().map(CallOp::name))? else {
            return Ok(None);
        };
        let custom = frame.seen & Key::Custom.bit() != 0;
        let external = frame.seen & Key::External.bit() != 0;
        let wanted = (op == CallOp::Custom, op == CallOp::External);
        if (custom, external) != wanted {
            let message = match wanted {
                (true, _) => {
                    "a call of `CUSTOM` has `custom`, the index of a function, and no `external`"
                }
                (_, true) => {
                    "a call of `EXTERNAL` has `external`, the index of an external function, and no `custom`"
                }
                _ => {
                    "only calls of `CUSTOM` have `custom`, and only calls of `EXTERNAL` have `external`"
                }
            };
            self.report.error(codes::MISSING_MEMBER, frame.start as usize, message);
            return Ok(None);
        }
        let at = frame.number_at as usize;
        let callee = match op {
            CallOp::Custom => self.index(frame, "`custom`").map(|index| {
                let callee = function_id(index);
                if self.nodes.callees.insert(callee) {
                    self.calls.push((self.nodes.function, callee, at));
                }
                Callee::Function(callee)
            }),
            CallOp::External => self.external_index(frame.number, at).map(Callee::External),
            _ => Some(Callee::Builtin),
        };
        let (curve_bases, arguments) = (frame.curve_bases, frame.exprs);
        Ok(callee.map(|callee| ExprKind::Call { op, curve_bases, callee, arguments }))
    }

    fn make_func_ref(&mut self, frame: &Frame) -> Option<ExprKind> {
        if frame.seen & Key::Func.bit() == 0 {
            return Some(ExprKind::FuncRef(None.into()));
        }
        let callee = function_id(self.index(frame, "`func`")?);
        if self.nodes.callees.insert(callee) {
            self.calls.push((self.nodes.function, callee, frame.number_at as usize));
        }
        Some(ExprKind::FuncRef(callee.into()))
    }

    fn make_cpu_custom(
        &mut self,
        function: &mut Function,
        frame: &Frame,
    ) -> Lexed<Option<ExprKind>> {
        if self.versioned {
            let message = "host callbacks are not allowed in a versioned document";
            self.report.error(codes::UNPORTABLE, frame.start as usize, message);
            return Ok(None);
        }
        let mut pointers = Vec::new();
        for slot in [2, 3, MAIN] {
            if !self.base64(frame.texts[slot], "the host address")? {
                return Ok(None);
            }
            pointers.extend_from_slice(&self.scratch);
        }
        if pointers.len() != 24 {
            let message = "a host address has 8 bytes";
            self.report.error(codes::LITERAL_SIZE, frame.start as usize, message);
            return Ok(None);
        }
        let pointers: ByteRange = function.add_bytes(&pointers);
        let argument =
            Some(frame.children[0]).filter(|c| *c != NO_CHILD).map(ExprId::from_u32).into();
        Ok(Some(ExprKind::CpuCustom { pointers, argument }))
    }

    /// The statement of a frame whose members are complete; `None` if they are wrong, which is reported.
    pub fn make_stmt(&mut self, function: &mut Function, frame: &Frame) -> Lexed<Option<Stmt>> {
        Ok(match frame.tag {
            Tag::Break => Some(Stmt::Break),
            Tag::Continue => Some(Stmt::Continue),
            Tag::Return => {
                let value = Some(frame.children[0]).filter(|c| *c != NO_CHILD);
                Some(Stmt::Return(value.map(ExprId::from_u32).into()))
            }
            Tag::Scope => Some(Stmt::Scope(frame.stmts)),
            Tag::CommentText => Some(Stmt::Comment(self.text(function, frame.texts[MAIN])?)),
            Tag::Print => {
                let format = self.text(function, frame.texts[MAIN])?;
                Some(Stmt::Print { format, arguments: frame.exprs })
            }
            Tag::SwitchCase => self.make_case(function, frame),
            _ => self.make_compound(frame),
        })
    }

    fn make_compound(&mut self, frame: &Frame) -> Option<Stmt> {
        Some(match frame.tag {
            Tag::Assign => {
                Stmt::Assign { lhs: self.expr(frame, Key::Lhs)?, rhs: self.expr(frame, Key::Rhs)? }
            }
            Tag::Expr => Stmt::Expr(self.expr(frame, Key::Expression)?),
            Tag::If => Stmt::If {
                condition: self.expr(frame, Key::Condition)?,
                on_true: self.stmt(frame, Key::TrueBranch)?,
                on_false: self.stmt(frame, Key::FalseBranch)?,
            },
            Tag::Loop => Stmt::Loop { body: self.stmt(frame, Key::Body)? },
            Tag::AutoDiff => Stmt::AutoDiff { body: self.stmt(frame, Key::Body)? },
            Tag::SwitchDefault => Stmt::SwitchDefault { body: self.stmt(frame, Key::Body)? },
            Tag::Switch => Stmt::Switch {
                value: self.expr(frame, Key::Expression)?,
                body: self.stmt(frame, Key::Body)?,
            },
            Tag::For => Stmt::For {
                variable: self.expr(frame, Key::Variable)?,
                condition: self.expr(frame, Key::Condition)?,
                step: self.expr(frame, Key::Step)?,
                body: self.stmt(frame, Key::Body)?,
            },
            Tag::RayQuery => Stmt::RayQuery {
                query: self.expr(frame, Key::Query)?,
                on_triangle: self.stmt(frame, Key::OnTriangle)?,
                on_procedural: self.stmt(frame, Key::OnProcedural)?,
            },
            _ => return None,
        })
    }

    /// A case's value is a number; it becomes an `int` literal, or a `long` one where it does not fit.
    fn make_case(&mut self, function: &mut Function, frame: &Frame) -> Option<Stmt> {
        let body = self.stmt(frame, Key::Body)?;
        if frame.texts[MAIN] != Span::default() {
            let message = "`value` of a `SWITCH_CASE` must be an integer";
            self.report.error(codes::WRONG_TYPE, frame.start as usize, message);
            return None;
        }
        let value = match i32::try_from(frame.number) {
            Ok(value) => function.add_literal(TypeId::I32, &value.to_le_bytes()),
            Err(_) => function.add_literal(TypeId::I64, &frame.number.to_le_bytes()),
        };
        Some(Stmt::SwitchCase { value, body })
    }
}
