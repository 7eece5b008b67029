//! What can be wrong with a JSON input.

crate::codes! {
    /// The codes of the JSON reader.
    pub static CODES;

    NOT_UTF8 = 1 "the input is not UTF-8",
        "JSON is UTF-8 text. The byte named does not belong to any character.",
        "Write the file as UTF-8, or check that it is the file you meant.";
    EMPTY = 2 "the input is empty",
        "The file has no bytes, or nothing but blanks.",
        "Check that the program that should have written it ran to its end.";
    SYNTAX = 3 "the input is not JSON",
        "At the place named, JSON allows only what the message says.",
        "Look at the place named; a file written by hand often has a comma too many or too few.";
    TRUNCATED = 4 "the input ends too early",
        "The end of the file came inside an array, object or string.",
        "Record the kernel again; the writer was interrupted, or the file was cut.";
    NOT_AN_AST = 5 "the input is JSON, but no AST",
        "An AST is an object with the members `types`, `functions` and `entry`.",
        "Pass what `luisa::compute::to_json` returned, unchanged.";
    VERSION = 6 "the schema or version is not known",
        "Versioned files have `\"schema\": \"luisa.compute.ast\"` and `\"version\": 1`.",
        "Record the kernel with a version of LuisaCompute that writes version 1, or without an envelope.";
    TOO_LARGE = 7 "the input is too large",
        "One input may have up to 4 GiB.",
        "Split the kernel, or keep loops as loops where the recording program unrolls them.";
    TOO_DEEP = 8 "nodes are nested too deeply",
        "Expressions and statements of a function may be nested 1,048,576 levels deep.",
        "Let the recording program keep intermediate values in variables.";
    DUPLICATE_MEMBER = 10 "a member stands twice in one object",
        "Which of the two counts is not defined, so neither does.",
        "Remove one of them.";
    UNKNOWN_MEMBER = 11 "a member does not belong here",
        "Versioned files have exactly the members of the format; in files without a version, members of other nodes are refused because they would be taken for something else.",
        "Remove the member, or correct its name.";
    MISSING_MEMBER = 12 "a member is missing",
        "The object named must have this member.",
        "Record the kernel again, or add the member.";
    WRONG_TYPE = 13 "a value is of the wrong kind",
        "The member must be of the kind that the message names.",
        "Correct the value.";
    UNKNOWN_NAME = 14 "a name is not known",
        "Tags, operations, usages and curve bases have fixed names, in capitals.",
        "Correct the name; if it is one of a newer LuisaCompute, this version of the compiler does not know it yet.";
    BAD_NUMBER = 15 "a number is out of range",
        "Indices are integers from 0; dimensions, alignments and sizes have the range that the message names.",
        "Correct the number.";
    TYPE_INDEX = 20 "a type index is out of range",
        "Types are named by their position in `types`. A type can only be built from types before it.",
        "Correct the index, or reorder the types.";
    TYPE_CYCLE = 21 "a type contains itself",
        "A type that contains itself has no size.",
        "Break the circle with an index into a buffer.";
    BAD_TYPE = 22 "a type cannot be",
        "The element, dimension, alignment or size is not one that a type can have. Sizes must fit into 32 bits.",
        "Correct the type; put large data into a buffer.";
    VARIABLE_INDEX = 23 "a variable index is out of range",
        "Variables are named by their position in `variables` of their function.",
        "Correct the index.";
    CONSTANT_INDEX = 24 "a constant index is out of range",
        "Constants are named by their position in `constants`.",
        "Correct the index.";
    FUNCTION_INDEX = 25 "a function index is out of range",
        "Functions are named by their position in `functions`.",
        "Correct the index.";
    EXTERNAL_INDEX = 26 "an external function's index is out of range",
        "External functions are named by their position in `external_functions`.",
        "Correct the index.";
    ENTRY = 27 "the entry is wrong",
        "`entry` is the position of a function. In versioned files it is the last function and the only kernel.",
        "Correct `entry`.";
    BASE64 = 30 "a text is not base64",
        "Values of literals and constants are base64 of their bytes in memory: standard alphabet, `=` as padding.",
        "Record the kernel again, or correct the text.";
    LITERAL_SIZE = 31 "a literal has the wrong number of bytes",
        "A literal has exactly as many bytes as a value of its type takes in memory, padding included: a three-component vector has four elements.",
        "Correct the value or the type.";
    CONSTANT_SIZE = 32 "a constant has the wrong number of bytes",
        "A constant has exactly as many bytes as a value of its type takes in memory, padding included.",
        "Correct the value or the type.";
    ARGUMENTS = 33 "the arguments are wrong",
        "Each argument is another variable; in versioned files they are the variables 0, 1, 2 and so on, in order.",
        "Correct `arguments`.";
    FORWARD_CALL = 40 "a callable is called before it is defined",
        "Callees come before their callers in `functions`.",
        "Reorder the functions.";
    RECURSION = 41 "callables call each other in a circle",
        "Recursion is not supported: kernels have no call stack that could grow.",
        "Rewrite the recursion as a loop, with an array as a stack if need be.";
    UNPORTABLE = 42 "the versioned format does not allow this",
        "Versioned files hold the portable part of the language only: no host callbacks, no external functions, no raster stages.",
        "Record the kernel without it.";
}
