//! Codes of the verifier's errors, one for each invariant.

luisac_ast::codes! {
    /// Codes of the errors that the verifier finds: 620 and the number of the invariant.
    pub static CODES;
    TERMINATED = 621 "a block does not end in one terminator",
        "Every block ends in exactly one terminator, and a terminator stands nowhere else.",
        "End the block with `br`, `return`, `unreachable` or another terminator.";
    REACHABLE = 622 "a block that nothing leads to",
        "Every block is reached from the entry over successors and roles of terminators.",
        "Remove the block.";
    ENTRY = 623 "the entry block is named by an instruction",
        "The entry block has no predecessors and no role.",
        "Put a block in front of it.";
    REFERENCE = 624 "something that is not in the function is named",
        "Operands are values of the function whose instructions stand in a block; blocks named are in the order of blocks.",
        "This is a defect of the pass that made the function.";
    SHAPE = 625 "blocks or immediate data do not fit the operation",
        "Each operation has a fixed number of blocks and one kind of immediate data: `switch` a value for each case, `call` a callee, `print` a format.",
        "Mend the instruction.";
    RESULT = 626 "a result where none belongs, or none where one does",
        "Whether an operation has a result follows from the operation and, for calls, from the callee.",
        "Give the instruction its result type, or none.";
    COUNT = 627 "a wrong number of operands",
        "The operation table states the least and greatest number of operands.",
        "Mend the instruction.";
    OPERAND_TYPE = 628 "types that break the rule of the operation",
        "Operands and result follow the typing rule of the operation; nothing is converted implicitly.",
        "Insert a cast, or correct the types.";
    OPERAND_KIND = 629 "an lvalue, value or resource where another kind belongs",
        "Allocas, geps and reference arguments are lvalues: they name memory, and only operations on memory take them.",
        "Load the lvalue first, or pass the lvalue itself.";
    DOMINANCE = 630 "a value is used where it may not be defined",
        "The definition of an operand dominates its use; that of a phi operand dominates the end of its predecessor.",
        "Add a phi, or keep the value in memory.";
    PHI = 631 "a phi that does not fit its block",
        "Phis stand before all other instructions and have one value for each predecessor.",
        "Give the phi one entry for each predecessor.";
    USES = 632 "the list of uses of a value is wrong",
        "The use lists and the operands say the same.",
        "This is a defect of the core: operands are changed through its mutators only.";
    ROLE = 633 "a block has two roles that exclude each other",
        "A block is the merge of one construct at most, the roles within a construct are different blocks, and a block belongs to one construct.",
        "Give each construct blocks of its own.";
    EXIT = 634 "a construct is left in a wrong way",
        "`break` goes to the merge of the nearest enclosing loop or switch, `continue` to the update block (`loop`) or body (`simple_loop`) of the nearest loop; otherwise the parts of a construct end at its merge.",
        "Branch to the block that the construct names.";
    LOOP = 635 "a loop that has not the shape of one",
        "The prepare part of a `loop` ends in `cond_br` to body and merge, or in `br` to the body; a `ray_query_loop` has a dispatch block.",
        "Build the loop as docs/xir.md shows.";
    CASES = 636 "case values that do not fit",
        "The values of a switch are different and fit the width of the selector.",
        "Remove one of two equal cases; write negative values modulo 2^width.";
    PLACE = 637 "a type or constant that cannot stand in its place",
        "Memory and values hold data; resources are arguments only; a constant has the bytes of its type.",
        "Use another type.";
    CALL = 638 "a call that does not fit the callee",
        "Arguments match the parameters in number, kind and type.",
        "Mend the call or the callee.";
    RECURSION = 639 "callables call each other in a circle",
        "There is no stack to hold the frames of a recursion.",
        "Write the recursion as a loop.";
    FUNCTION = 640 "a function that breaks the rules of its kind",
        "A kernel returns nothing, has a block size with a product of 1 to 1024 and z of 64 at most, and a body; shared memory belongs to kernels; an external function has no body.",
        "Mend the function.";
    RETURN = 641 "a return that does not fit the function",
        "`return` has a value of the return type, or none if the function returns nothing.",
        "Return a value of the right type.";
}
