//! The codes of the warnings that no check gives.

crate::codes! {
    /// The codes of the lints.
    pub static CODES;

    UNUSED_ARGUMENT = 380 "an argument is not used",
        "Nothing in the function reads or writes the argument: it costs a place in the parameter block and a binding of the caller for nothing.",
        "Remove the argument, or use it; `-A unused-argument` if the signature is given.";
    NEVER_WRITTEN_OUTPUT = 381 "an output is never written",
        "The kernel writes nothing that anybody can see: no resource, no print, no assertion, no call of something unknown. Or the file says that an argument is written, and nothing writes it.",
        "Write the result to a buffer or image, or correct the usage in the file.";
    DIVERGENT_BARRIER = 382 "a block barrier is not reached by all threads",
        "A barrier is for all threads of a block, in uniform control flow. Evaluated for every thread of the first block, the conditions around this one let some threads pass by while others wait.",
        "Move the barrier out of the condition, and keep only the work inside.";
    UNREACHABLE_STATEMENT = 383 "a statement is never reached",
        "Each statement before it in the same scope runs to it or not at all, and one of them leaves: a jump, a return, or a loop without end.",
        "Remove the statement, or the jump before it.";
    INFINITE_LOOP = 384 "a loop has no way out",
        "No `BREAK` of this loop, no `RETURN` and no assertion stands in it, so that a thread which enters never ends. Loops are never assumed to end.",
        "Add a `BREAK`.";
    SHADOWED_CASE = 385 "a case is never chosen",
        "Case values are converted to the selector's width. This one lies outside of what the width holds, signed or not, so that the case stands for another value than it says. Two cases that are equal after that are an error, L0316.",
        "Correct the value of the case.";
    SHIFT_OUT_OF_RANGE = 386 "a shift by more bits than there are",
        "The amount is taken modulo the width, so that a shift of 32 bits by 32 shifts by nothing.",
        "Correct the amount.";
    DIVISION_BY_ZERO = 387 "an integer is divided by zero",
        "The quotient is the dividend and the remainder is zero: defined, but hardly meant.",
        "Correct the divisor.";
    UNUSED_CALLABLE = 388 "a callable is not called",
        "The input has a kernel, and no kernel calls this function, directly or through others.",
        "Remove the callable.";
    UNWRITTEN_SHARED = 389 "a shared variable is read, but never written",
        "Shared memory is undefined until it is written.",
        "Write it before the barrier, or remove it.";
}
