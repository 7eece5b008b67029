//! Diagnostics of the way back to an AST, L0570 to L0579.

luisac_ast::codes! {
    /// Codes of writing XIR as an AST.
    pub static CODES;
    NO_EXPRESSION = 570 "the operation has no form in an AST",
        "Passes may leave operations that the language has no expression for.",
        "Write the module as XIR text, or leave out the pass that made the operation.";
    NOT_STRUCTURED = 571 "the control flow has no form in an AST",
        "An AST has constructs only: no branches between blocks of different constructs, and no blocks that several of them share.",
        "Run `restructure_cfg` before.";
}
