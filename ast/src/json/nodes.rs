//! The nodes of a function body: a stack machine over the tokens.
//!
//! Each open object is a frame that collects members in whatever order they come; its node is made when the object
//! ends, hence after its operands. Memory beside the nodes: one frame for each level of nesting.

use cranelift_entity::packed_option::ReservedValue;
use rustc_hash::FxHashSet;

use super::codes;
use super::keys::{CHILDREN, Key, TEXTS, Tag, Want};
use super::lexer::{Lexed, Span};
use super::reader::{Reader, shorten};
use super::spelling::suggestion;
use crate::model::{
    CurveBases, Expr, ExprId, ExprKind, ExprList, Function, FunctionId, Stmt, StmtId, StmtList,
};
use crate::types::TypeId;

/// Levels of nesting of the nodes of a function. Nothing recorded comes near; it bounds the memory that a short text takes.
pub(super) const MAX_DEPTH: usize = 1 << 20;

/// A child that is not there: `null`, or a member that was not given.
pub(super) const NO_CHILD: u32 = u32::MAX;

/// An object that has not ended.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Where it starts.
    pub start: u32,
    /// What must stand there.
    pub want: Want,
    pub tag: Tag,
    /// Set of [`Key::bit`]s.
    pub seen: u64,
    /// Member that is being read.
    key: Key,
    /// Whether the member's array is being read, and if so whether its first item is next.
    in_list: bool,
    first: bool,
    /// Where the array's items start on the stack of items.
    base: u32,
    pub ty: u32,
    pub number: i64,
    pub number_at: u32,
    pub texts: [Span; TEXTS],
    pub children: [u32; CHILDREN],
    pub exprs: ExprList,
    pub stmts: StmtList,
    pub curve_bases: CurveBases,
}

/// What is kept while a function's nodes are read.
pub(super) struct Nodes {
    pub function: FunctionId,
    frames: Vec<Frame>,
    exprs: Vec<ExprId>,
    stmts: Vec<StmtId>,
    /// Callees of the function that have been noted.
    pub callees: FxHashSet<FunctionId>,
    /// Largest index of a variable, and where it stands.
    pub largest_variable: Option<(u32, usize)>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            function: FunctionId::reserved_value(),
            frames: Vec::new(),
            exprs: Vec::new(),
            stmts: Vec::new(),
            callees: FxHashSet::default(),
            largest_variable: None,
        }
    }
}

impl Nodes {
    /// Makes ready for a function.
    pub fn start(&mut self, function: FunctionId) {
        self.function = function;
        self.callees.clear();
        self.largest_variable = None;
    }
}

impl Reader<'_> {
    /// Reads a function's body; `None` if it is no scope, which is reported.
    pub fn body(&mut self, function: &mut Function) -> Lexed<Option<StmtId>> {
        if self.lexer.peek() != Some(b'{') {
            self.wrong_type("`body`", "an object")?;
            return Ok(None);
        }
        self.nodes.frames.clear();
        self.open_node(Want::Stmt)?;
        loop {
            let Some(frame) = self.nodes.frames.last_mut() else {
                return Ok(None);
            };
            if frame.in_list {
                if self.lexer.item(&mut frame.first)? {
                    self.list_item()?;
                } else {
                    self.close_list(function);
                }
                continue;
            }
            if let Some(key) = self.lexer.key(&mut frame.first)? {
                self.node_member(key)?;
                continue;
            }
            let Some(frame) = self.nodes.frames.pop() else {
                return Ok(None);
            };
            match frame.want {
                Want::Expr => {
                    let expr = self.close_expr(function, &frame)?;
                    self.deliver_expr(expr);
                }
                Want::Stmt => {
                    let stmt = self.close_stmt(function, &frame)?;
                    self.go_on()?;
                    if self.nodes.frames.is_empty() {
                        self.check_scope(&frame);
                        return Ok(Some(stmt));
                    }
                    self.deliver_stmt(stmt, &frame);
                }
            }
        }
    }

    /// Opens the object at which the lexer stands.
    fn open_node(&mut self, want: Want) -> Lexed<()> {
        let start = self.lexer.at as u32;
        if self.nodes.frames.len() >= MAX_DEPTH {
            let message = format!("nodes are nested deeper than {MAX_DEPTH} levels");
            self.report.error(codes::TOO_DEEP, self.lexer.at, message);
            return self.end();
        }
        self.lexer.at += 1;
        self.nodes.frames.push(Frame {
            start,
            want,
            tag: Tag::Missing,
            seen: 0,
            key: Key::Tag,
            in_list: false,
            first: true,
            base: 0,
            ty: 0,
            number: 0,
            number_at: start,
            texts: [Span::default(); TEXTS],
            children: [NO_CHILD; CHILDREN],
            exprs: ExprList::default(),
            stmts: StmtList::default(),
            curve_bases: CurveBases::default(),
        });
        Ok(())
    }

    fn list_item(&mut self) -> Lexed<()> {
        let want = match self.nodes.frames.last().and_then(|f| f.key.role().list) {
            Some(want) if self.lexer.peek() == Some(b'{') => want,
            _ => return self.wrong_type("an item of the list", "an object"),
        };
        self.open_node(want)
    }

    fn close_list(&mut self, function: &mut Function) {
        let Some(frame) = self.nodes.frames.last_mut() else {
            return;
        };
        frame.in_list = false;
        frame.first = false;
        let base = frame.base as usize;
        match frame.key.role().list {
            Some(Want::Expr) => {
                frame.exprs = function.add_exprs(&self.nodes.exprs[base..]);
                self.nodes.exprs.truncate(base);
            }
            _ => {
                frame.stmts = function.add_stmts(&self.nodes.stmts[base..]);
                self.nodes.stmts.truncate(base);
            }
        }
    }

    /// Hands a finished expression to the object around it.
    fn deliver_expr(&mut self, expr: ExprId) {
        let Some(parent) = self.nodes.frames.last_mut() else {
            return;
        };
        if parent.in_list {
            self.nodes.exprs.push(expr);
        } else if let Some((slot, _)) = parent.key.role().child {
            parent.children[slot as usize] = expr.as_u32();
        }
    }

    /// Hands a finished statement to the object around it.
    fn deliver_stmt(&mut self, stmt: StmtId, frame: &Frame) {
        let Some(parent) = self.nodes.frames.last_mut() else {
            return;
        };
        if parent.in_list {
            self.nodes.stmts.push(stmt);
            if self.versioned && frame.tag == Tag::Scope {
                let message = "a scope may only stand as the body of a statement";
                self.report.error(codes::UNPORTABLE, frame.start as usize, message);
            }
        } else if let Some((slot, _)) = parent.key.role().child {
            parent.children[slot as usize] = stmt.as_u32();
            self.check_scope(frame);
        }
    }

    /// Bodies are scopes.
    fn check_scope(&mut self, frame: &Frame) {
        if !matches!(frame.tag, Tag::Scope | Tag::Missing | Tag::Wrong) {
            let message =
                format!("a `SCOPE` must stand here, but there is a `{}`", frame.tag.name());
            self.report.error(codes::WRONG_TYPE, frame.start as usize, message);
        }
    }

    /// Reads one member of the innermost object, the key of which has been consumed.
    fn node_member(&mut self, span: Span) -> Lexed<()> {
        let key = match Key::from_name(self.lexer.raw(span)) {
            Some(key) => Some(key),
            None => Key::from_name(self.lexer.decode(span)?.as_bytes()),
        };
        let Some(frame) = self.nodes.frames.last_mut() else {
            return Ok(());
        };
        match key {
            Some(key) if frame.seen & key.bit() == 0 => {
                frame.seen |= key.bit();
                frame.key = key;
                self.member_value(key)
            }
            _ => {
                let name = self.lexer.decode(span)?;
                self.stray_member(span, &shorten(&name), key.is_some());
                self.lexer.skip_value()
            }
        }
    }

    fn member_value(&mut self, key: Key) -> Lexed<()> {
        match key {
            Key::Tag => return self.node_tag(),
            Key::Type => return self.node_type(),
            Key::CurveBases => {
                let bases = self.curve_bases()?;
                if let Some(frame) = self.nodes.frames.last_mut() {
                    frame.curve_bases = bases;
                }
                return Ok(());
            }
            _ => {}
        }
        let role = key.role();
        let next = self.lexer.peek();
        let at = self.lexer.at;
        let Some(frame) = self.nodes.frames.last_mut() else {
            return Ok(());
        };
        match (next, role.text, role.child) {
            (Some(b'"'), Some(slot), _) => frame.texts[slot as usize] = self.lexer.string()?,
            (Some(b'-' | b'0'..=b'9'), ..) if role.number => {
                let number = self.lexer.number()?;
                if let Some(value) = self.exact(number, at, key.name())
                    && let Some(frame) = self.nodes.frames.last_mut()
                {
                    (frame.number, frame.number_at) = (value, at as u32);
                }
            }
            (Some(b'{'), _, Some((_, want))) => self.open_node(want)?,
            (Some(b'n'), _, Some(_)) => self.lexer.word("null")?,
            (Some(b'['), ..) if role.list.is_some() => {
                self.lexer.at += 1;
                frame.in_list = true;
                frame.first = true;
                frame.base = match role.list {
                    Some(Want::Expr) => self.nodes.exprs.len(),
                    _ => self.nodes.stmts.len(),
                } as u32;
            }
            _ => {
                let kind = match role {
                    _ if role.text.is_some() => "a string",
                    _ if role.number => "an integer",
                    _ if role.list.is_some() => "an array",
                    _ => "an object",
                };
                self.wrong_type(&format!("`{}`", key.name()), kind)?;
            }
        }
        Ok(())
    }

    fn node_tag(&mut self) -> Lexed<()> {
        if self.lexer.peek() != Some(b'"') {
            return self.wrong_type("`tag`", "a string");
        }
        let span = self.lexer.string()?;
        let tag = match Tag::from_name(self.lexer.raw(span)) {
            Some(tag) => tag,
            None => {
                let name = self.lexer.decode(span)?;
                Tag::from_name(name.as_bytes()).unwrap_or_else(|| {
                    let message = format!(
                        "`{}` is no tag of an expression or statement{}",
                        shorten(&name),
                        suggestion(&name, Tag::names())
                    );
                    self.report.error(codes::UNKNOWN_NAME, span.start as usize, message);
                    Tag::Wrong
                })
            }
        };
        if let Some(frame) = self.nodes.frames.last_mut() {
            frame.tag = tag;
        }
        Ok(())
    }

    fn node_type(&mut self) -> Lexed<()> {
        let index = self.integer("`type`", u64::from(u32::MAX))?;
        if let (Some(index), Some(frame)) = (index, self.nodes.frames.last_mut()) {
            frame.ty = index as u32;
        }
        Ok(())
    }

    /// Whether the tag is of the wanted kind and the members are those of the tag; what is not is reported.
    pub fn check_node(&mut self, frame: &Frame) -> bool {
        let at = frame.start as usize;
        match frame.tag {
            Tag::Wrong => return false,
            Tag::Missing => {
                // A `tag` that is no string has been reported.
                if frame.seen & Key::Tag.bit() == 0 {
                    self.report.error(codes::MISSING_MEMBER, at, "the node has no `tag`");
                }
                return false;
            }
            _ => {}
        }
        let tag = frame.tag.name();
        if frame.tag.want() != Some(frame.want) {
            let wanted = if frame.want == Want::Expr { "an expression" } else { "a statement" };
            self.report.error(
                codes::WRONG_TYPE,
                at,
                format!("{wanted} must stand here, but there is a `{tag}`"),
            );
            return false;
        }
        let missing = frame.tag.required() & !frame.seen;
        let stray = frame.seen & !frame.tag.allowed();
        if missing | stray == 0 {
            return true;
        }
        for key in Key::ALL {
            if missing & key.bit() != 0 {
                self.report.error(
                    codes::MISSING_MEMBER,
                    at,
                    format!("the `{tag}` has no `{}`", key.name()),
                );
            } else if stray & key.bit() != 0 {
                self.report.error(
                    codes::UNKNOWN_MEMBER,
                    at,
                    format!("a `{tag}` has no member `{}`", key.name()),
                );
            }
        }
        false
    }

    /// A child that must be there: one that is `null` is reported.
    pub fn required_child(&mut self, frame: &Frame, key: Key) -> Option<u32> {
        let (slot, _) = key.role().child?;
        let child = frame.children[slot as usize];
        if child != NO_CHILD {
            return Some(child);
        }
        let message = format!("the `{}` of the `{}` is missing", key.name(), frame.tag.name());
        self.report.error(codes::MISSING_MEMBER, frame.start as usize, message);
        None
    }

    /// Makes the expression of an object that has ended; a placeholder if it is wrong, which is reported.
    fn close_expr(&mut self, function: &mut Function, frame: &Frame) -> Lexed<ExprId> {
        let made = if self.check_node(frame) { self.make_expr(function, frame)? } else { None };
        let placeholder = Expr { ty: TypeId::VOID, kind: ExprKind::TypeId(TypeId::VOID) };
        Ok(function.exprs.push(made.unwrap_or(placeholder)))
    }

    /// Makes the statement of an object that has ended; a placeholder if it is wrong, which is reported.
    fn close_stmt(&mut self, function: &mut Function, frame: &Frame) -> Lexed<StmtId> {
        let made = if self.check_node(frame) { self.make_stmt(function, frame)? } else { None };
        Ok(function.stmts.push(made.unwrap_or(Stmt::Scope(StmtList::default()))))
    }
}
