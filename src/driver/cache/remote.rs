//! Stores on other machines, through OpenDAL: S3, Google Cloud Storage, Azure, plain HTTP (to read from), Redis.
//!
//! A store is named by an address such as `s3://bucket/prefix?region=eu-west-1`. Keys and passwords come from the environment, as the
//! tools of each store have them.

use super::Remote;
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;
use opendal::layers::TimeoutLayer;
use opendal::{ErrorKind, Operator};
use std::future::Future;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Time that a store has for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an entry that are taken at most.
const MOST: u64 = 256 << 20;

/// An opened store.
pub struct Store {
    name: String,
    operator: Operator,
    runtime: Runtime,
}

/// Opens the store of an address. Nothing is asked of it yet.
///
/// # Errors
/// An address that is none, or of a kind of store that this build does not have.
pub fn open(address: &str) -> Result<Store, Diagnostic> {
    opendal::install_default();
    let wrong = |e: &dyn std::fmt::Display| {
        let message = format!("the cache `{}` cannot be used: {e}", without_secrets(address));
        Diagnostic::error(codes::CACHE, message).with_help(
            "an address is such as `s3://bucket/prefix?region=R`, `gcs://bucket`, `azblob://container`, \
             `http://host/folder` or `redis://host:6379`; each kind is a feature of the build",
        )
    };
    let operator = Operator::from_uri(address).map_err(|e| wrong(&said(&e)))?;
    let timeout = TimeoutLayer::new().with_timeout(PATIENCE).with_io_timeout(PATIENCE);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| wrong(&e))?;
    Ok(Store { name: without_secrets(address), operator: operator.layer(timeout), runtime })
}

/// An address without what may be secret: the user's part and the options.
fn without_secrets(address: &str) -> String {
    let plain = address.split('?').next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, None), |(h, p)| (h, Some(p)));
            let host = host.rsplit('@').next().unwrap_or_default();
            let path = path.map_or_else(String::new, |p| format!("/{p}"));
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    }
}

/// What OpenDAL says, in one line and without the addresses that it asked.
fn said(error: &opendal::Error) -> String {
    let text = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(200).collect();
    format!("{}: {short}", error.kind())
}

impl Store {
    /// Waits for an answer, but not for ever, whatever the store's own client thinks.
    fn wait<T>(&self, answer: impl Future<Output = opendal::Result<T>>) -> Result<T, Answer> {
        let all = async { tokio::time::timeout(2 * PATIENCE, answer).await };
        match self.runtime.block_on(all) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(e)) if e.kind() == ErrorKind::NotFound => Err(Answer::Nothing),
            Ok(Err(e)) if e.kind() == ErrorKind::Unsupported => Err(Answer::Cannot),
            Ok(Err(e)) => Err(Answer::Wrong(said(&e))),
            Err(_) => Err(Answer::Wrong("it does not answer".into())),
        }
    }
}

/// An answer that is no value.
enum Answer {
    Nothing,
    /// The store does not do such things.
    Cannot,
    Wrong(String),
}

impl Remote for Store {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let read = async {
            let size = self.operator.stat(name).await?.content_length();
            if size > MOST {
                return Ok(None);
            }
            Ok(Some(self.operator.read(name).await?.to_vec()))
        };
        match self.wait(read) {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(format!("an entry has more than {MOST} bytes")),
            Err(Answer::Nothing | Answer::Cannot) => Ok(None),
            Err(Answer::Wrong(why)) => Err(why),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        match self.wait(self.operator.write(name, bytes.to_vec())) {
            // A store to read from only.
            Ok(_) | Err(Answer::Cannot) => Ok(()),
            Err(Answer::Nothing) => Err("there is no such bucket or folder".into()),
            Err(Answer::Wrong(why)) => Err(why),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_no_secrets() {
        let name = without_secrets("redis://user:word@host:6379/0/x?password=a");
        assert_eq!(name, "redis://host:6379/0/x");
        assert_eq!(without_secrets("s3://bucket?secret_access_key=x"), "s3://bucket");
    }
}
