use crate::transforms::testing::{count, transform};
use luisac_xir::text;

/// The body of a kernel with two byte buffers; the arguments are `%0`, `%1` and `%2: value f32`.
fn bytes(body: &str) -> String {
    format!(
        "module;\nkernel @k block(1, 1, 1) (%0: resource buffer<void>, %1: resource buffer<void>, %2: value f32) {{\n{body}\nreturn\n}}\n"
    )
}

#[track_caller]
fn fuses(before: &str, after: &str) {
    let (result, _) =
        transform("fuse_consecutive_buffer_reads{buffer_alignment=16}", &bytes(before));
    let expected = text::print(&crate::transforms::testing::parse(&bytes(after)));
    assert_eq!(result, expected, "\n--- result\n{result}\n--- expected\n{expected}");
}

#[test]
fn reads_side_by_side_become_one() {
    fuses(
        "b0:
        %3: f32 = resource_read byte_buffer_read %0, u32 8
        %4: f32 = resource_read byte_buffer_read %0, u32 4
        %5: f32 = resource_read byte_buffer_read %0, u32 0
        %6: f32 = resource_read byte_buffer_read %0, u32 12
        print \"{} {} {} {}\", %3, %4, %5, %6",
        "b0:
        %3: vector<f32, 4> = resource_read byte_buffer_read %0, u32 0
        %4: f32 = arithmetic extract %3, u32 0
        %5: f32 = arithmetic extract %3, u32 1
        %6: f32 = arithmetic extract %3, u32 2
        %7: f32 = arithmetic extract %3, u32 3
        print \"{} {} {} {}\", %6, %5, %4, %7",
    );
}

#[test]
fn reads_stay_where_something_may_write_between_or_they_are_not_aligned() {
    let body = "b0:
        %3: f32 = resource_read byte_buffer_read %0, u32 0
        resource_write byte_buffer_write %1, u32 64, %2
        %4: f32 = resource_read byte_buffer_read %0, u32 4
        %5: f32 = resource_read byte_buffer_read %0, u32 8
        print \"{} {} {}\", %3, %4, %5";
    fuses(body, body);
}

#[test]
fn writes_side_by_side_become_one_at_the_last() {
    fuses(
        "b0:
        resource_write byte_buffer_write %0, u32 4, %2
        %3: f32 = arithmetic sin %2
        resource_write byte_buffer_write %0, u32 0, %3",
        "b0:
        %3: f32 = arithmetic sin %2
        %4: vector<f32, 2> = arithmetic aggregate %3, %2
        resource_write byte_buffer_write %0, u32 0, %4",
    );
}

#[test]
fn writes_keep_their_order_with_others() {
    // An overlap, a read, another buffer, a barrier.
    for between in [
        "resource_write byte_buffer_write %0, u32 2, %2",
        "%3: f32 = resource_read byte_buffer_read %1, u32 0",
        "resource_write byte_buffer_write %1, u32 0, %2",
        "thread_group synchronize_block",
    ] {
        let body = format!(
            "b0:\nresource_write byte_buffer_write %0, u32 0, %2\n{between}\nresource_write byte_buffer_write %0, u32 4, %2"
        );
        fuses(&body, &body);
    }
}

#[test]
fn checked_accesses_stay() {
    let body = "b0:
        resource_write byte_buffer_write %0, u32 0, %2
        resource_write byte_buffer_write %0, u32 4, %2";
    let pass = "fuse_consecutive_buffer_reads{buffer_alignment=16,checked_bounds=true}";
    let (_, report) = transform(pass, &bytes(body));
    assert!(!report.changed());
}

/// The lanes of the vectors that four floats side by side become where buffers start at multiples of `alignment`.
fn lanes_at(alignment: u64, first: u64) -> Vec<u64> {
    let reads = (0..4).map(|i| {
        format!("%{}: f32 = resource_read byte_buffer_read %0, u32 {}\n", i + 3, first + 4 * i)
    });
    let body =
        format!("b0:\n{}print \"{{}} {{}} {{}} {{}}\", %3, %4, %5, %6", reads.collect::<String>());
    let pass = format!("fuse_consecutive_buffer_reads{{buffer_alignment={alignment}}}");
    let (result, _) = transform(&pass, &bytes(&body));
    [2, 4]
        .into_iter()
        .filter(|n| result.contains(&format!("vector<f32, {n}> = resource_read")))
        .collect()
}

/// A view may start at any byte: a vector may not ask for more alignment than buffers are known to have.
#[test]
fn no_access_asks_for_more_alignment_than_is_known() {
    for (alignment, at_0, at_4, at_8) in [
        (1, &[][..], &[][..], &[][..]),
        (2, &[], &[], &[]),
        (4, &[], &[], &[]),
        (8, &[2], &[2], &[2]),
        (24, &[2], &[2], &[2]),
        (16, &[4], &[2], &[2]),
        (256, &[4], &[2], &[2]),
    ] {
        assert_eq!(lanes_at(alignment, 0), at_0, "{alignment} at 0");
        assert_eq!(lanes_at(alignment, 4), at_4, "{alignment} at 4");
        assert_eq!(lanes_at(alignment, 8), at_8, "{alignment} at 8");
    }
    let body = "b0:
        resource_write byte_buffer_write %0, u32 0, %2
        resource_write byte_buffer_write %0, u32 4, %2";
    for (pass, changes) in [
        ("fuse_consecutive_buffer_reads", false),
        ("fuse_consecutive_buffer_reads{buffer_alignment=4}", false),
        ("fuse_consecutive_buffer_reads{buffer_alignment=8}", true),
    ] {
        assert_eq!(transform(pass, &bytes(body)).1.changed(), changes, "{pass}");
    }
}

#[test]
fn equal_trees_become_vector_operations() {
    crate::transforms::testing::becomes(
        "slp_vectorization,dce",
        "b0:
        %4: vector<f32, 2> = arithmetic aggregate %3, f32 2.0
        %5: f32 = arithmetic extract %4, u32 0
        %6: f32 = arithmetic extract %4, u32 1
        %7: f32 = arithmetic binary_mul %5, f32 3.0
        %8: f32 = arithmetic binary_mul %6, f32 4.0
        %9: f32 = arithmetic binary_sub %7, %6
        %10: f32 = arithmetic binary_sub %8, %5
        %11: vector<f32, 2> = arithmetic aggregate %9, %10
        print \"{}\", %11
        return",
        "b0:
        %4: vector<f32, 2> = arithmetic aggregate %3, f32 2.0
        %5: vector<f32, 2> = arithmetic shuffle %4, u32 1, u32 0
        %6: vector<f32, 2> = arithmetic binary_mul %4, const vector<f32, 2>(3.0, 4.0)
        %7: vector<f32, 2> = arithmetic binary_sub %6, %5
        print \"{}\", %7
        return",
    );
}

#[test]
fn scalars_with_other_uses_or_without_gain_stay() {
    let body = "b0:
        %4: f32 = arithmetic binary_mul %3, f32 3.0
        %5: f32 = arithmetic binary_mul %3, f32 4.0
        %6: vector<f32, 2> = arithmetic aggregate %4, %5
        %7: f32 = arithmetic binary_add %3, f32 1.0
        %8: f32 = arithmetic sin %3
        %9: vector<f32, 2> = arithmetic aggregate %7, %8
        print \"{} {} {}\", %6, %9, %4
        return";
    assert_eq!(count("slp_vectorization", "slp_vectorization", "vectorized_tree_count", body), 0);
}
