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

/// The keys of an object are those of the schema, and all that it requires are there.
#[track_caller]
fn fits(value: &serde_json::Value, schema: &serde_json::Value) {
    let (object, properties) = (value.as_object().unwrap(), &schema["properties"]);
    for key in object.keys() {
        assert!(!properties[key].is_null(), "`{key}` is not in the schema");
    }
    for key in schema["required"].as_array().unwrap() {
        assert!(object.contains_key(key.as_str().unwrap()), "{key} is missing");
    }
}

#[test]
fn reports_fit_their_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json/report.schema.json");
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let source = crate::transforms::testing::kernel(
        "b0:
        br b1
        b1:
        return",
    );
    let pipeline = Pipeline::parse("fix(simplify_cfg,dce;max=3),dce").unwrap();
    let mut module = crate::transforms::testing::parse(&source);
    let report = pipeline.run(&mut module, Default::default()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    fits(&json, &schema);
    let run = &schema["$defs"]["run"];
    fits(&json["runs"][0], run);
    fits(&json["runs"][0]["children"][0], run);
    assert_eq!(serde_json::from_value::<crate::Report>(json).unwrap(), report);
    assert_eq!(report.runs[0].invocations, 2);
    assert_eq!(report.counter("simplify_cfg", "merged_straight_line_count"), 1);
}

#[test]
fn a_group_that_does_not_settle_says_so() {
    let source = crate::transforms::testing::kernel(
        "b0:
        br b1
        b1:
        return",
    );
    let mut module = crate::transforms::testing::parse(&source);
    let pipeline = Pipeline::parse("fix(simplify_cfg;max=1)").unwrap();
    let report = pipeline.run(&mut module, Default::default()).unwrap();
    assert!(report.runs[0].iteration_limit_reached && !report.succeeded());
    assert_eq!(report.warnings()[0].code, codes::NOT_CONVERGED);
}
