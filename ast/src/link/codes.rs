//! What can be wrong with inputs that are linked.

crate::codes! {
    /// The codes of the linker.
    pub static CODES;

    CLASH = 390 "two inputs have different callables of one name",
        "Callables are linked by name. Where several inputs have one of the same name, they must be the same function.",
        "Rename one of them, or leave one of the libraries out.";
    SIGNATURE = 391 "a callable does not fit the external function it stands for",
        "An external function declares its argument and result types; a callable of its name has to have the same.",
        "Correct the declaration, or rename the callable.";
    CIRCLE = 392 "callables of several inputs call each other in a circle",
        "Recursion is not supported: kernels have no call stack that could grow.",
        "Rewrite the recursion as a loop.";
    UNRESOLVED = 393 "no library has a callable for an external function",
        "The function stays a native one, of which only the name is known; targets refuse its calls.",
        "Name the library that has it with `--lib`.";
}
