//! The form of functions.

use crate::forms::{Cfg, form_of};
use crate::text::parse;

/// The form of `@k`, whose body are the lines: its control flow, and whether there are phis and vector arithmetic.
#[track_caller]
fn form(lines: &str, cfg: Cfg, phis: bool, vectors: bool) {
    let body: String = lines.split(';').map(|l| format!("{}\n", l.trim())).collect();
    let text = format!("kernel @k(%0: value bool) {{\nb0:\n{body}}}");
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let found = form_of(module.functions.values().next().unwrap(), &module.types);
    assert_eq!((found.cfg, found.phis, found.vectors), (cfg, phis, vectors));
}

#[test]
fn control_flow_is_told_apart() {
    form("return", Cfg::Straight, false, false);
    form("br b1; b1: ; return", Cfg::Straight, false, false);
    form("br b1; b1: ; br b1", Cfg::Flat, false, false);
    form("cond_br %0, b1, b1; b1: ; return", Cfg::Flat, false, false);
    form("indexed_branch u32 1, default b1; b1: ; return", Cfg::Flat, false, false);
    let structured = "if %0, then b1, else b1, merge b2; b1: ; br b2; b2: ;";
    form(&format!("{structured} return"), Cfg::Structured, false, false);
    form(&format!("{structured} cond_br %0, b3, b3; b3: ; return"), Cfg::Mixed, false, false);
    let lines = "loop prepare b1, body b2, update b3, merge b4; b1: ; cond_br %0, b2, b4; b2: ; br b3; b3: ; br b1; b4: ; return";
    form(lines, Cfg::Structured, false, false);
}

#[test]
fn phis_and_vectors_are_seen() {
    form("br b1; b1: ; %1: u32 = phi (u32 1, b0); return", Cfg::Straight, true, false);
    form(
        "%1: f32 = arithmetic extract const vector<f32, 2> zero, u32 1; return",
        Cfg::Straight,
        false,
        false,
    );
    form(
        "%1: f32 = arithmetic length const vector<f32, 2> zero; return",
        Cfg::Straight,
        false,
        true,
    );
    form("%1: vector<u32, 3> = alloca local; return", Cfg::Straight, false, false);
}

#[test]
fn straight_and_special_forms_fit() {
    assert!(Cfg::Straight.fits_flat() && Cfg::Straight.fits_structured());
    assert!(Cfg::Flat.fits_flat() && !Cfg::Flat.fits_structured());
    assert!(!Cfg::Mixed.fits_flat() && !Cfg::Mixed.fits_structured());
}
