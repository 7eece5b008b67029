use super::canned::CANS;
use super::declaration::{Declaration, FunctionCx, FunctionPass, Pass, Refusal, counters};
use super::form::{Control, Form};
use super::pipeline::{Measure, PassCall, Pipeline, Step};
use super::runner::RunOptions;
use super::schema;
use crate::codes;
use crate::registry::PASSES;

#[track_caller]
fn fails(text: &str, code: luisac_ast::diagnostic::Code, parts: &[&str]) {
    let error = match Pipeline::parse(text) {
        Err(error) => error,
        Ok(pipeline) => pipeline.check(Form::LOWERED).expect_err("the pipeline is refused"),
    };
    assert_eq!(error.code, code, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "`{part}` is missing in: {error}");
    }
}

#[track_caller]
fn round_trips(text: &str, canonical: &str) {
    let pipeline = Pipeline::parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(pipeline.to_string(), canonical);
    assert_eq!(Pipeline::parse(canonical).unwrap().to_string(), canonical);
}

#[test]
fn pipelines_round_trip() {
    round_trips("", "");
    round_trips(" dce , dce ", "dce,dce");
    round_trips("dce,fix(dce,destructure_cfg;max=8)", "dce,fix(dce,destructure_cfg;max=8)");
    round_trips("fix( dce, fix(dce ) ; max = 64)", "fix(dce,fix(dce))");
    round_trips("fix(dce;measure=blocks;max=2)", "fix(dce;max=2;measure=blocks)");
}

#[test]
fn errors_name_the_nearest_and_all() {
    fails(
        "dce,simplfy_cfg",
        codes::UNKNOWN_PASS,
        &["`simplfy_cfg`", "did you mean `simplify_cfg`", "`dce`", "byte 4"],
    );
    fails("@O9-flat", codes::UNKNOWN_PIPELINE, &["`O9-flat`"]);
    fails("dce{x=1}", codes::UNKNOWN_OPTION, &["`dce`", "`x`"]);
    fails("dce,", codes::PIPELINE_SYNTAX, &["the end found"]);
    fails("dce,,dce", codes::PIPELINE_SYNTAX, &["`,` found"]);
    fails("fix(dce;max=x)", codes::PIPELINE_SYNTAX, &["a number"]);
    fails("fix(dce;measure=x)", codes::PIPELINE_SYNTAX, &["`instructions`"]);
    fails("fix(dce", codes::PIPELINE_SYNTAX, &["`)`"]);
    fails("dce)", codes::PIPELINE_SYNTAX, &["`)` found"]);
    fails("dce{x", codes::PIPELINE_SYNTAX, &["`=`"]);
    fails(&"fix(".repeat(100_000), codes::PIPELINE_SYNTAX, &["deep"]);
}

#[test]
fn forms_are_checked_before_running() {
    fails(
        "dce,simplify_cfg",
        codes::FORM_MISMATCH,
        &[
            "`simplify_cfg` needs flat control flow",
            "structured",
            "through `dce`",
            "insert `destructure_cfg`",
        ],
    );
    let form =
        Pipeline::parse("destructure_cfg,simplify_cfg").unwrap().check(Form::LOWERED).unwrap();
    assert_eq!(form.control, Control::Flat);
}

#[test]
fn declarations_are_complete() {
    for pass in PASSES {
        let d = &pass.declaration;
        assert!(!d.summary.is_empty() && !d.description.is_empty(), "{}", d.name);
        assert_eq!(d.requires == super::form::Requires::NONE, d.why.is_empty(), "{}: why", d.name);
        assert!(pass.counters.iter().any(|c| c.is_change), "{}: counters", d.name);
        for option in pass.options {
            let text = format!("{}{{{}={}}}", d.name, option.name, (option.default)());
            if !(option.default)().is_empty() {
                Pipeline::parse(&text).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
    let mut names: Vec<_> = PASSES.iter().map(|p| p.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PASSES.len());
}

#[test]
fn canned_pipelines_hold_no_opt_in_passes() {
    for (name, text) in CANS {
        for pass in ["loop_fusion", "loop_vectorization", "loop_unswitch", "indvar_simplify"] {
            assert!(!text.contains(pass), "{name} holds {pass}");
        }
    }
}

#[test]
fn canned_pipelines_fit() {
    for (name, _) in CANS {
        let pipeline =
            Pipeline::parse(&format!("@{name}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let initial = match *name {
            "ssa" => Form { control: Control::Flat, ..Form::ANY },
            _ => Form::LOWERED,
        };
        pipeline.check(initial).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// `BLESS=1` writes the page anew.
#[test]
fn the_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/passes.md");
    let page = super::describe::page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/passes.md is out of date: run this test with BLESS=1");
}

/// A kernel of two blocks that can be merged.
fn two_blocks() -> luisac_xir::Module {
    crate::transforms::testing::parse(&crate::transforms::testing::kernel(
        "b0:
        br b1
        b1:
        return",
    ))
}

#[test]
fn reports_fit_their_schemas() {
    let run = |text: &str| {
        let pipeline = Pipeline::parse(text).unwrap();
        pipeline.run(&mut two_blocks(), Default::default()).unwrap()
    };
    let report = run("fix(simplify_cfg,dce;max=3),dce");
    let json = serde_json::to_value(&report).unwrap();
    schema::check("report.schema.json", &json);
    assert_eq!(serde_json::from_value::<crate::Report>(json).unwrap(), report);
    assert_eq!(report.runs[0].invocations, 2);
    assert_eq!(report.counter("simplify_cfg", "merged_straight_line_count"), 1);
    let diff = report.diff(&run("dce"));
    schema::check("report-diff.schema.json", &serde_json::to_value(&diff).unwrap());
    assert_eq!(diff.instructions, [Some(1), Some(2)]);
    let names: Vec<_> = diff.runs.iter().map(|r| (r.name.as_str(), r.nth, r.differs())).collect();
    let expected =
        [("fix", 1, true), ("simplify_cfg", 1, true), ("dce", 1, true), ("dce", 2, true)];
    assert_eq!(names, expected);
    assert!(!report.diff(&report).runs.iter().any(|r| r.differs()));
}

#[test]
#[should_panic(expected = "surprise")]
fn the_schema_refuses_unknown_keys() {
    let mut json = serde_json::to_value(crate::Report::default()).unwrap();
    json["surprise"] = 1.into();
    schema::check("report.schema.json", &json);
}

#[test]
fn a_group_that_does_not_settle_says_so() {
    let pipeline = Pipeline::parse("fix(simplify_cfg;max=1)").unwrap();
    let report = pipeline.run(&mut two_blocks(), Default::default()).unwrap();
    assert!(report.runs[0].iteration_limit_reached && !report.succeeded());
    assert_eq!(report.warnings()[0].code, codes::NOT_CONVERGED);
}

#[test]
fn orders_are_checked_before_running() {
    fails(
        "destructure_cfg,dce,keep_waves_in_loops",
        codes::MISPLACED,
        &["`keep_waves_in_loops` comes after `destructure_cfg`", "rounds"],
    );
    fails("fix(autodiff,mem2reg)", codes::MISPLACED, &["`autodiff` comes after `mem2reg`"]);
    for ordering in super::ordering::ORDERINGS {
        for name in [ordering.first, ordering.then].iter().chain(ordering.unless) {
            let later = ["restructure_cfg", "reg2mem"];
            assert!(crate::registry::find(name).is_some() || later.contains(name), "{name}");
        }
    }
    assert!(!crate::may_follow(&["dce", "mem2reg"], "autodiff"));
    assert!(crate::may_follow(&["mem2reg", "reg2mem"], "autodiff"));
}

counters! {
    /// What the passes of these tests do.
    Told {
        change changed_count "changes";
    }
}

/// Turns the flag of a function over, and tells of it.
struct Flip;
/// The same, and says nothing.
struct Liar;

impl FunctionPass for Flip {
    const DECLARATION: Declaration = Declaration::new("flip", "", "");
    type Options = ();
    type Info = Told;
    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Told, Refusal> {
        cx.func.no_inline = !cx.func.no_inline;
        Ok(Told { changed_count: 1 })
    }
}

impl FunctionPass for Liar {
    const DECLARATION: Declaration = Declaration::new("liar", "", "");
    type Options = ();
    type Info = Told;
    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Told, Refusal> {
        cx.func.no_inline = !cx.func.no_inline;
        Ok(Told::default())
    }
}

static FLIP: Pass = Pass::function::<Flip>();
static LIAR: Pass = Pass::function::<Liar>();

fn step(pass: &'static Pass) -> Step {
    Step::Pass(PassCall { pass, options: Vec::new() })
}

#[test]
fn a_change_that_no_counter_tells_of_is_an_error() {
    let pipeline = Pipeline { steps: vec![step(&LIAR)] };
    let options = || RunOptions { verify_each: true, ..RunOptions::default() };
    let error = pipeline.run(&mut two_blocks(), options()).unwrap_err();
    assert_eq!(error.0[0].code, codes::UNCOUNTED_CHANGE);
    let pipeline = Pipeline { steps: vec![step(&FLIP)] };
    pipeline.run(&mut two_blocks(), options()).unwrap();
}

#[test]
fn a_group_that_goes_in_a_circle_ends() {
    let group = |measure| Pipeline {
        steps: vec![Step::Fix { steps: vec![step(&FLIP)], max: 64, measure }],
    };
    let report = group(Measure::Changes).run(&mut two_blocks(), Default::default()).unwrap();
    let run = &report.runs[0];
    assert!(run.repeats && !run.converged && run.invocations == 2);
    assert_eq!(report.warnings()[0].code, codes::NOT_CONVERGED);
    // Nothing gets smaller: one round says so.
    let report = group(Measure::Instructions).run(&mut two_blocks(), Default::default()).unwrap();
    assert!(report.succeeded() && report.runs[0].invocations == 1);
}
