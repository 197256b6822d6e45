//! The typed layer: a kind or a read tool as one Rust type.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Case, Effect, Found, JsonObject, Kind, KindSpec, Lock, Measure, Preview, ReadSpec, ReadTool, Refusal,
    Shape, Wording, canonical::canonical, schema::object_schema,
};
use crate::{
    db::{Conn, QueryResult},
    error::Denial,
    store::subjects::Versions,
};

/// A kind of action, written in Rust. One file implements it; one line registers it.
pub trait ActionKind: Clone + Send + Sync + 'static {
    /// See [`KindSpec`] for these.
    const NAME: &'static str;
    const VERSION: i32;
    const SCOPE: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    const RETRY_WINDOW: Duration;
    const DESTRUCTIVE: bool;
    const MEASURE: Measure = Measure::None;

    /// The arguments as an agent writes them.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The write as it is stored: public ids as recorded, optional members at their default left out.
    type Params: Serialize + DeserializeOwned + Send + 'static;
    /// The rows the write concerns.
    type Record: Send + 'static;

    /// Finds the records that the arguments mean.
    fn resolve(
        &self,
        conn: &mut Conn,
        arguments: Self::Arguments,
    ) -> QueryResult<Result<Self::Params, Denial>>;

    /// Reads the rows, and locks them if asked.
    fn load(&self, conn: &mut Conn, params: &Self::Params, lock: Lock) -> QueryResult<Option<Self::Record>>;

    /// The rows and their versions.
    fn versions(&self, record: &Self::Record) -> Versions;

    /// The business rules.
    fn check(&self, params: &Self::Params, record: &Self::Record) -> Result<(), Refusal>;

    /// How the write is called.
    fn wording(&self, params: &Self::Params, record: &Self::Record) -> Wording;

    /// What would change.
    fn preview(&self, params: &Self::Params, record: &Self::Record) -> Preview;

    /// Does the write on locked rows that passed [`ActionKind::check`].
    fn apply(
        &self,
        conn: &mut Conn,
        effect: &Effect<'_>,
        params: &Self::Params,
        record: &Self::Record,
    ) -> QueryResult<Value>;
}

/// An answer, and the record it is about ("order:#1044"), if it is about one.
pub struct About<T> {
    pub answer: T,
    pub subject: Option<String>,
}

/// A read tool, written in Rust.
pub trait Read: Send + Sync + 'static {
    /// See [`ReadSpec`] for these.
    const NAME: &'static str;
    const SCOPE: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;

    /// The arguments as an agent writes them.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The answer.
    type Answer: Serialize + JsonSchema;

    /// Reads, and names the record for the audit log.
    fn read(
        &self,
        conn: &mut Conn,
        arguments: Self::Arguments,
    ) -> QueryResult<Result<About<Self::Answer>, Denial>>;
}

/// Lifts an [`ActionKind`] to a [`Kind`].
pub(super) struct TypedKind<K> {
    kind: K,
    spec: KindSpec,
}

impl<K: ActionKind> TypedKind<K> {
    pub(super) fn new(kind: K) -> Self {
        let spec = KindSpec {
            name: K::NAME,
            version: K::VERSION,
            scope: K::SCOPE,
            title: K::TITLE,
            description: K::DESCRIPTION,
            retry_window: K::RETRY_WINDOW,
            destructive: K::DESTRUCTIVE,
            measure: K::MEASURE,
            shape: Shape::of::<K::Arguments>(),
        };
        Self { kind, spec }
    }
}

impl<K: ActionKind> Kind for TypedKind<K> {
    fn spec(&self) -> &KindSpec {
        &self.spec
    }

    fn resolve(&self, conn: &mut Conn, arguments: &JsonObject) -> QueryResult<Result<String, Denial>> {
        match typed(arguments) {
            Ok(arguments) => Ok(self.kind.resolve(conn, arguments)?.map(|params| canonical(&params))),
            Err(denial) => Ok(Err(denial)),
        }
    }

    fn open(&self, conn: &mut Conn, params: &str, lock: Lock) -> QueryResult<Option<Box<dyn Case>>> {
        // Params that this version can't read belong to another version, which the claim refuses by itself.
        let Ok(params) = serde_json::from_str::<K::Params>(params) else {
            return Ok(None);
        };
        let record = self.kind.load(conn, &params, lock)?;
        Ok(record.map(|record| {
            Box::new(TypedCase {
                kind: self.kind.clone(),
                params,
                record,
            }) as Box<dyn Case>
        }))
    }
}

struct TypedCase<K: ActionKind> {
    kind: K,
    params: K::Params,
    record: K::Record,
}

impl<K: ActionKind> Case for TypedCase<K> {
    fn versions(&self) -> Versions {
        self.kind.versions(&self.record)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.kind.check(&self.params, &self.record)
    }

    fn wording(&self) -> Wording {
        self.kind.wording(&self.params, &self.record)
    }

    fn preview(&self) -> Preview {
        self.kind.preview(&self.params, &self.record)
    }

    fn apply(&self, conn: &mut Conn, effect: &Effect<'_>) -> QueryResult<Value> {
        self.kind.apply(conn, effect, &self.params, &self.record)
    }
}

/// Lifts a [`Read`] to a [`ReadTool`].
pub(super) struct TypedRead<R> {
    read: R,
    spec: ReadSpec,
}

impl<R: Read> TypedRead<R> {
    pub(super) fn new(read: R) -> Self {
        let spec = ReadSpec {
            name: R::NAME,
            scope: R::SCOPE,
            title: R::TITLE,
            description: R::DESCRIPTION,
            shape: Arc::new(Shape::of::<R::Arguments>()),
            output: object_schema::<R::Answer>(),
        };
        Self { read, spec }
    }
}

impl<R: Read> ReadTool for TypedRead<R> {
    fn spec(&self) -> &ReadSpec {
        &self.spec
    }

    fn read(&self, conn: &mut Conn, arguments: &JsonObject) -> QueryResult<Result<Found, Denial>> {
        let arguments = match typed(arguments) {
            Ok(arguments) => arguments,
            Err(denial) => return Ok(Err(denial)),
        };
        let found = self.read.read(conn, arguments)?;
        Ok(found.map(|About { answer, subject }| Found {
            body: serde_json::to_value(answer).expect("answers are JSON"),
            subject,
        }))
    }
}

/// Arguments that their [`Shape`] has checked, as their type.
pub(crate) fn typed<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, Denial> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|_| Denial::invalid("", "The arguments are not in the form the schema asks for."))
}
