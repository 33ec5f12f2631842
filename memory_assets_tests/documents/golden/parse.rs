//! Parses lines.
use std::fmt;

/// A line that could not be parsed, with its number and with what was expected in its place, so
/// that an editor can show it where it is. Numbers count from one, as editors count lines too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    pub line: usize,
    pub expected: &'static str,
    pub found: String,
    pub source_name: Option<String>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found {}", self.line, self.expected, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error names the line, what was expected there and what was found, in this order, and
    /// says nothing of the name of the source, which whoever prints the error knows anyway.
    #[test]
    fn an_error_names_its_line() {
        let error = ParseError { line: 3, expected: "a word", found: "(".into(), source_name: None };
        assert_eq!(error.to_string(), "line 3: expected a word, found (");
    }
}
