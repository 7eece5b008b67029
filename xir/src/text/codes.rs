//! Codes of the errors in XIR text.

luisac_ast::codes! {
    /// Codes of the errors in XIR text.
    pub static CODES;
    SYNTAX = 600 "the XIR text does not follow its grammar",
        "Every instruction stands on a line of its own; a line may go on after a comma. The grammar is in docs/xir.md.",
        "Mend the text at the place named.";
    UNKNOWN_OPERATION = 601 "an unknown operation",
        "The first words of an instruction name its operation, as in `arithmetic binary_add`. The names are those of the operation table.",
        "Correct the name; docs/xir.md lists the operations.";
    UNKNOWN_NAME = 602 "a name that nothing defines",
        "Values (`%1`), blocks (`b1`), functions (`@f`), types (`T0`) and constants (`C0`) must be defined: values and blocks in the same function, types and constants above their use.",
        "Define the name or correct it.";
    DUPLICATE_NAME = 603 "a name is defined twice",
        "A value, block, function, type or constant has one definition.",
        "Rename one of the two.";
    BAD_TYPE = 604 "a type that cannot be",
        "The type breaks a rule on element kinds, dimensions, alignment, nesting or size.",
        "Use a type that can be.";
    BAD_CONSTANT = 605 "a constant that does not fit its type",
        "The number is out of the range of its type, or there are too many or too few elements or bytes.",
        "Write a value of the type; bits of any kind can be written as 0x…, bytes as hex \"…\".";
    TOO_LARGE = 606 "the text asks for too much memory",
        "Constants written in short form, such as `zero`, may take 64 MiB in all; a text may have 4 GiB.",
        "Make the module smaller.";
}
