//! Names of files that are made from the names of kernels and inputs.

/// A kernel's name as part of a file name: what a file system or shell may trip over becomes `_`; long names are cut.
pub fn file_name(kernel: &str) -> String {
    let clean =
        |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+') { c } else { '_' };
    let name: String = kernel.chars().map(clean).take(100).collect();
    match name.trim_start_matches('.') {
        "" => "kernel".into(),
        trimmed => trimmed.to_owned(),
    }
}

/// The file of the pseudo-code of an input, by the input's stem.
pub fn pseudo_code(stem: &str) -> String {
    format!("{}.ast", file_name(stem))
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_are_safe() {
        assert_eq!(file_name("blur"), "blur");
        assert_eq!(file_name("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(file_name("..."), "kernel");
        assert_eq!(file_name("a b\n\"c\""), "a_b__c_");
        assert_eq!(file_name(&"x".repeat(70000)).len(), 100);
    }
}
