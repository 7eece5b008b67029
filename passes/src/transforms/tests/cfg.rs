use crate::transforms::testing::{becomes, count, stays, transform};
use crate::{Pipeline, RunOptions};

const LOOP: &str = "b0:
    loop prepare b1, body b2, update b3, merge b4
    b1:
    cond_br %2, b2, b4
    b2:
    if %2, then b5, else b6, merge b7
    b5:
    break b4
    b6:
    continue b3
    b7:
    br b3
    b3:
    br b1
    b4:
    return";

#[test]
fn destructures_loops_and_removes_role_blocks() {
    becomes(
        "destructure_cfg",
        LOOP,
        "b0:
        br b1
        b1:
        cond_br %2, b2, b6
        b2:
        cond_br %2, b3, b4
        b3:
        br b6
        b4:
        br b5
        b5:
        br b1
        b6:
        return",
    );
    assert_eq!(count("destructure_cfg", "destructure_cfg", "leaked_block_count", LOOP), 1);
}

#[test]
fn destructures_switches() {
    becomes(
        "destructure_cfg",
        "b0:
        switch %1, default b1, case 1 b2, merge b3
        b1:
        br b3
        b2:
        return
        b3:
        return",
        "b0:
        indexed_branch %1, default b1, case 1 b2
        b1:
        br b3
        b2:
        return
        b3:
        return",
    );
}

#[test]
fn simplifies_a_loop() {
    becomes(
        "destructure_cfg,simplify_cfg",
        LOOP,
        "b0:
        br b1
        b1:
        cond_br %2, b2, b3
        b2:
        cond_br %2, b3, b1
        b3:
        return",
    );
}

#[test]
fn folds_branches_on_constants() {
    becomes(
        "simplify_cfg",
        "b0:
        cond_br bool false, b1, b2
        b1:
        br b3
        b2:
        indexed_branch u32 7, default b1, case 7 b4
        b3:
        %4: f32 = phi (%3, b1), (f32 1.0, b4)
        resource_write buffer_write %0, u32 0, %4
        return
        b4:
        br b3",
        "b0:
        resource_write buffer_write %0, u32 0, f32 1.0
        return",
    );
}

#[test]
fn keeps_endless_loops() {
    becomes(
        "simplify_cfg",
        "b0:
        br b1
        b1:
        br b2
        b2:
        br b1",
        "b0:
        br b1
        b1:
        br b1",
    );
}

#[test]
fn keeps_phis_with_one_entry_for_each_predecessor() {
    stays(
        "simplify_cfg",
        "b0:
        cond_br %2, b1, b2
        b1:
        br b2
        b2:
        %4: f32 = phi (%3, b0), (f32 1.0, b1)
        resource_write buffer_write %0, u32 0, %4
        return",
    );
}

#[test]
fn passes_by_empty_blocks_before_phis() {
    becomes(
        "simplify_cfg",
        "b0:
        cond_br %2, b1, b2
        b1:
        cond_br %2, b3, b4
        b2:
        thread_group synchronize_block
        br b5
        b3:
        thread_group synchronize_block
        br b5
        b4:
        br b5
        b5:
        %4: f32 = phi (%3, b2), (f32 1.0, b3), (f32 2.0, b4)
        resource_write buffer_write %0, u32 0, %4
        return",
        "b0:
        cond_br %2, b1, b2
        b1:
        cond_br %2, b3, b4
        b2:
        thread_group synchronize_block
        br b4
        b3:
        thread_group synchronize_block
        br b4
        b4:
        %4: f32 = phi (%3, b2), (f32 1.0, b3), (f32 2.0, b1)
        resource_write buffer_write %0, u32 0, %4
        return",
    );
}

#[test]
fn long_chains_cost_no_more_than_their_length() {
    let n = 20_000;
    let mut body = String::from("b0:\nbr b1\n");
    for i in 1..n {
        // Every second block does something.
        match i % 2 {
            0 => body.push_str(&format!(
                "b{i}:\nthread_group synchronize_block\ncond_br %2, b{}, b{n}\n",
                i + 1
            )),
            _ => body.push_str(&format!("b{i}:\nbr b{}\n", i + 1)),
        }
    }
    body.push_str(&format!("b{n}:\nreturn\n"));
    let (text, _) = transform("simplify_cfg", &super::super::testing::kernel(&body));
    assert_eq!(text.matches(":\n").count(), n / 2);
}

#[test]
fn fuel_bounds_changes() {
    let source = super::super::testing::kernel(
        "b0:
        cond_br bool true, b1, b2
        b1:
        cond_br bool true, b2, b1
        b2:
        return",
    );
    let mut module = super::super::testing::parse(&source);
    let pipeline = Pipeline::parse("simplify_cfg").unwrap();
    let options = RunOptions { fuel: Some(1), ..RunOptions::default() };
    let report = pipeline.run(&mut module, options).unwrap();
    assert_eq!(report.counter("simplify_cfg", "folded_constant_cond_br_count"), 1);
    assert_eq!(module.functions.values().next().unwrap().blocks().count(), 3);
}
