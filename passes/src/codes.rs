//! The diagnostics of pipelines and passes.

luisac_ast::codes! {
    /// All codes of this crate.
    pub static CODES;
    UNKNOWN_PASS = 801 "there is no such pass",
        "A pipeline names a pass that this compiler does not have.",
        "Use a name that `luisac passes` lists.";
    PIPELINE_SYNTAX = 802 "the pipeline cannot be read",
        "A pipeline is a list of passes: `a,b,fix(c,d;max=8),e{option=value}`; `@name` stands for a canned one.",
        "Correct the text at the place named.";
    UNKNOWN_OPTION = 803 "the pass has no such option",
        "Options in braces belong to the pass in front of them.",
        "Use an option that `luisac passes` lists for the pass.";
    OPTION_VALUE = 804 "the option does not take this value",
        "Each option has a type: `true` or `false`, a whole number, or one of the words listed.",
        "Give a value of that type.";
    FORM_MISMATCH = 805 "the passes do not fit together",
        "A pass works on certain forms of a function only (structured or flat control flow, with or without phis), and leaves \
         a certain form. A pipeline is refused before it runs if a pass would get a form that it cannot take.",
        "Insert the pass that is named, or change the order.";
    NOT_CONVERGED = 806 "a fixed point was not reached",
        "A `fix(...)` group still changed the module in its last allowed round.",
        "Raise `max`, or report it: a pass that undoes another's work is a mistake of the compiler.";
    VERIFY_FAILED = 807 "the module is not valid after a pass",
        "`--verify-each` found a broken invariant after the pass named: a mistake of the compiler.",
        "Report it with the output of `--repro`.";
    REFUSED = 808 "a pass refuses the function",
        "The function holds something that the pass cannot transform. It was left unchanged.",
        "Run the pass that is named first.";
    MISPLACED = 810 "a pass comes too late",
        "Some passes need what others take away, beyond the form of the control flow. The table of orderings says so for each \
         such pair, with the reason.",
        "Change the order as the message says.";
    UNCOUNTED_CHANGE = 811 "what a pass says of its changes is not so",
        "`--verify-each` compares the module before and after each pass: one that reports no change made none, and one that reports \
         changes made some.",
        "Report it with the output of `--repro`: a mistake of the compiler.";
    UNKNOWN_PIPELINE = 809 "there is no such canned pipeline",
        "`@name` stands for a canned pipeline.",
        "Use one of the names listed.";
}
