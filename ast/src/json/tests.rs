//! Reading JSON: the corpus, what must be refused, deep nesting.
