//! `luisac run`.

mod argument;
mod element;
mod npy;
mod picture;
