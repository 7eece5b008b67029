//! The members that nodes of a function body have: one table of keys, one of tags.

use super::names::{position, slots};

/// What kind of node is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Expr,
    Stmt,
}

/// What a member's value may be, and in which slot a frame keeps it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    pub text: Option<u8>,
    pub number: bool,
    pub child: Option<(u8, Want)>,
    pub list: Option<Want>,
}

const NONE: Role = Role { text: None, number: false, child: None, list: None };

const fn text(slot: u8) -> Role {
    Role { text: Some(slot), ..NONE }
}

const fn expr(slot: u8) -> Role {
    Role { child: Some((slot, Want::Expr)), ..NONE }
}

const fn stmt(slot: u8) -> Role {
    Role { child: Some((slot, Want::Stmt)), ..NONE }
}

const fn list(want: Want) -> Role {
    Role { list: Some(want), ..NONE }
}

const NUMBER: Role = Role { number: true, ..NONE };
/// A string in some nodes, a number in others.
const TEXT_OR_NUMBER: Role = Role { text: Some(0), number: true, ..NONE };

/// Slots of a frame.
pub(super) const TEXTS: usize = 4;
pub(super) const CHILDREN: usize = 4;

macro_rules! keys {
    ($($key:ident $name:literal $role:expr;)*) => {
        /// A member of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Key {
            $($key,)*
        }

        const KEY_NAMES: &[&str] = &[$($name,)*];
        static KEY_SLOTS: [u8; 256] = slots(KEY_NAMES);
        const ROLES: &[Role] = &[$($role,)*];

        impl Key {
            pub const ALL: &[Key] = &[$(Key::$key,)*];
        }
    };
}

keys! {
    Tag "tag" NONE;
    Type "type" NONE;
    CurveBases "curve_bases" NONE;
    Op "op" text(1);
    Lhs "lhs" expr(0);
    Rhs "rhs" expr(1);
    Operand "operand" expr(0);
    This "self" expr(0);
    Range "range" expr(0);
    Index "index" expr(1);
    Expression "expression" expr(0);
    // The number of a REF, the node of a FOR.
    Variable "variable" Role { number: true, ..expr(0) };
    Condition "condition" expr(1);
    Step "step" expr(2);
    Query "query" expr(0);
    Arg "arg" expr(0);
    Body "body" stmt(3);
    TrueBranch "true_branch" stmt(2);
    FalseBranch "false_branch" stmt(3);
    OnTriangle "on_triangle_candidate" stmt(2);
    OnProcedural "on_procedural_candidate" stmt(3);
    Statements "statements" list(Want::Stmt);
    Arguments "arguments" list(Want::Expr);
    // Base64 of a LITERAL, the number of a SWITCH_CASE.
    Value "value" TEXT_OR_NUMBER;
    // The text of a STRING_ID, base64 of a CPUCUSTOM, the index of a CONSTANT.
    Data "data" TEXT_OR_NUMBER;
    // Base64 of a CPUCUSTOM, the index of a FUNC_REF.
    Func "func" Role { text: Some(2), ..NUMBER };
    Dtor "dtor" text(3);
    Swizzle "swizzle" text(0);
    Comment "comment" text(0);
    Format "format" text(0);
    Member "member" NUMBER;
    Custom "custom" NUMBER;
    External "external" NUMBER;
    DataType "data_type" NUMBER;
}

impl Key {
    #[inline]
    pub fn from_name(name: &[u8]) -> Option<Key> {
        position(&KEY_SLOTS, KEY_NAMES, name).map(|i| Key::ALL[i])
    }

    pub fn name(self) -> &'static str {
        KEY_NAMES[self as usize]
    }

    #[inline]
    pub fn role(self) -> &'static Role {
        &ROLES[self as usize]
    }

    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }
}

const fn bits(keys: &[Key]) -> u64 {
    let mut set = 0;
    let mut i = 0;
    while i < keys.len() {
        set |= keys[i].bit();
        i += 1;
    }
    set
}

macro_rules! tags {
    ($($tag:ident $name:literal $want:ident ($($key:ident)*) ($($optional:ident)*);)*) => {
        /// What a node is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Tag {
            /// The node has had no tag yet.
            Missing,
            /// The node has a tag that does not exist: an error has been reported.
            Wrong,
            $($tag,)*
        }

        const TAGS: &[Tag] = &[$(Tag::$tag,)*];
        const TAG_NAMES: &[&str] = &[$($name,)*];
        static TAG_SLOTS: [u8; 256] = slots(TAG_NAMES);

        const TAG_ROWS: &[(&str, Option<Want>, u64, u64)] = &[
            ("", None, 0, 0),
            ("", None, 0, 0),
            $(($name, Some(Want::$want), bits(&[$(Key::$key),*]), bits(&[$(Key::$optional),*])),)*
        ];
    };
}

// Members that a node must have, and members that it may have; `tag` and, for expressions, `type` are understood.
tags! {
    Unary "UNARY" Expr (Op Operand) ();
    Binary "BINARY" Expr (Op Lhs Rhs) ();
    MemberOf "MEMBER" Expr (This) (Swizzle Member);
    Access "ACCESS" Expr (Range Index) ();
    Literal "LITERAL" Expr (Value) ();
    Ref "REF" Expr (Variable) ();
    Constant "CONSTANT" Expr (Data) ();
    Call "CALL" Expr (Op Arguments) (Custom External CurveBases);
    Cast "CAST" Expr (Op Expression) ();
    TypeId "TYPE_ID" Expr (DataType) ();
    StringId "STRING_ID" Expr (Data) ();
    FuncRef "FUNC_REF" Expr () (Func);
    CpuCustom "CPUCUSTOM" Expr (Func Dtor Data Arg) ();
    GpuCustom "GPUCUSTOM" Expr () (Arg Data);
    Break "BREAK" Stmt () ();
    Continue "CONTINUE" Stmt () ();
    Return "RETURN" Stmt () (Expression);
    Scope "SCOPE" Stmt (Statements) ();
    If "IF" Stmt (Condition TrueBranch FalseBranch) ();
    Loop "LOOP" Stmt (Body) ();
    Expr "EXPR" Stmt (Expression) ();
    Switch "SWITCH" Stmt (Expression Body) ();
    SwitchCase "SWITCH_CASE" Stmt (Value Body) ();
    SwitchDefault "SWITCH_DEFAULT" Stmt (Body) ();
    Assign "ASSIGN" Stmt (Lhs Rhs) ();
    For "FOR" Stmt (Variable Condition Step Body) ();
    CommentText "COMMENT" Stmt (Comment) ();
    RayQuery "RAY_QUERY" Stmt (Query OnTriangle OnProcedural) ();
    AutoDiff "AUTO_DIFF" Stmt (Body) ();
    Print "PRINT" Stmt (Format Arguments) ();
}

impl Tag {
    #[inline]
    pub fn from_name(name: &[u8]) -> Option<Tag> {
        position(&TAG_SLOTS, TAG_NAMES, name).map(|i| TAGS[i])
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TAG_NAMES.iter().copied()
    }

    pub fn name(self) -> &'static str {
        TAG_ROWS[self as usize].0
    }

    #[inline]
    pub fn want(self) -> Option<Want> {
        TAG_ROWS[self as usize].1
    }

    /// The members that it must have, as a set of [`Key::bit`]s.
    #[inline]
    pub fn required(self) -> u64 {
        let (_, want, required, _) = TAG_ROWS[self as usize];
        let of_type = if want == Some(Want::Expr) { Key::Type.bit() } else { 0 };
        required | of_type | Key::Tag.bit()
    }

    /// The members that it may have.
    #[inline]
    pub fn allowed(self) -> u64 {
        self.required() | TAG_ROWS[self as usize].3
    }
}
