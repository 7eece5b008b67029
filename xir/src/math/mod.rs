//! The mathematics of the language, written once over small traits, so that interpreter, constant folder and emitters agree
//! bit for bit.

pub mod composite;
