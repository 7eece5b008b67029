//! Random syntax trees lower to valid modules, or are refused with a code: whatever the checks let pass, nothing falls over.
//!
//! `LUISAC_RANDOM_ASTS=10000` tries as many as one likes.

use luisac_ast::check;
use luisac_ast::testing::{Form, Options, library};
use luisac_xir::{from_ast, text, verify};

#[test]
fn random_syntax_trees_lower_or_are_refused() {
    let (mut lowered, mut refused) = (0, 0);
    let count: u64 =
        std::env::var("LUISAC_RANDOM_ASTS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    for form in Form::ALL {
        for seed in 0..count / Form::ALL.len() as u64 {
            let options = Options { seed, size: 1 + seed as usize % 40, form };
            let library = library(&options);
            assert!(!check::check(&library).has_errors(), "{options:?}");
            match from_ast::lower_all(&library, &from_ast::Options::default()) {
                Ok(module) => {
                    lowered += 1;
                    verify::verify(&module).unwrap_or_else(|e| panic!("{options:?}: {e:?}"));
                    let printed = text::print(&module);
                    let again =
                        text::parse(&printed).unwrap_or_else(|e| panic!("{options:?}: {e}"));
                    assert!(text::print(&again) == printed, "{options:?}: the text changes");
                }
                Err(errors) => {
                    refused += 1;
                    assert!(errors.has_errors(), "{options:?}: refused without a word");
                }
            }
        }
    }
    println!("{lowered} lowered, {refused} refused");
    assert!(lowered > 100 && refused > 0, "{lowered} lowered, {refused} refused");
}
