//! What an instruction reads and writes.

/// A set of memory scopes. Different scopes never alias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    pub const NONE: Scopes = Scopes(0);
    /// Memory of one thread: local allocas, ray-query objects.
    pub const LOCAL: Scopes = Scopes(1);
    /// Memory of one block.
    pub const SHARED: Scopes = Scopes(2);
    /// Buffers, images, acceleration structures.
    pub const GLOBAL: Scopes = Scopes(4);
    pub const ALL: Scopes = Scopes(7);

    /// Whether no scope is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Whether the sets share a scope.
    pub const fn intersects(self, other: Scopes) -> bool {
        self.0 & other.0 != 0
    }
    /// The scopes of both.
    pub const fn union(self, other: Scopes) -> Scopes {
        Scopes(self.0 | other.0)
    }
}

/// The effects of one instruction (`passes.md` section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    pub reads: Scopes,
    pub writes: Scopes,
    /// Never removed, duplicated or reordered with other volatile instructions.
    pub volatile: bool,
    /// Depends on which threads execute it together: never moved across control flow.
    pub convergent: bool,
    /// Equal operands give equal results: may be value-numbered.
    pub numberable: bool,
}

impl Effects {
    /// A pure, value-numberable operation.
    pub const PURE: Effects = Effects {
        reads: Scopes::NONE,
        writes: Scopes::NONE,
        volatile: false,
        convergent: false,
        numberable: true,
    };
    /// Touches everything and stays where it is.
    pub const VOLATILE: Effects = Effects {
        reads: Scopes::ALL,
        writes: Scopes::ALL,
        volatile: true,
        convergent: false,
        numberable: false,
    };

    /// Only reads `scopes`.
    pub const fn read(scopes: Scopes) -> Effects {
        Effects { reads: scopes, numberable: false, ..Effects::PURE }
    }
    /// Only writes `scopes`.
    pub const fn write(scopes: Scopes) -> Effects {
        Effects { writes: scopes, numberable: false, ..Effects::PURE }
    }
    /// Reads and writes `scopes`.
    pub const fn read_write(scopes: Scopes) -> Effects {
        Effects { reads: scopes, writes: scopes, numberable: false, ..Effects::PURE }
    }
    /// Whether an instruction with these effects and no uses may be deleted.
    pub const fn removable(self) -> bool {
        self.writes.is_empty() && !self.volatile
    }
}
