use super::canned::CANS;
use super::form::{Control, Form};
use super::pipeline::Pipeline;
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
