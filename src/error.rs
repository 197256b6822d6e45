//! What can go wrong, without a word of HTTP or MCP.
//!
//! A business rule that says no is not in here: a refusal is a value (see [`crate::kinds::Refusal`]) and commits
//! with the event that records it.

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// All that anybody is told of a defect.
pub const DEFECT: &str = "Something went wrong inside Countersign. The operator's log says what.";

/// Why a call has no answer of the kind it asked for.
#[derive(Debug)]
pub enum Error {
    /// The caller is told a stable code and one sentence on what to do next.
    Denied(Denial),
    /// The database is away or busy. Nothing is known about the outcome; the same call may be sent again.
    Unavailable(Cause),
    /// A defect. The cause is logged, never shown.
    Internal(Cause),
    /// The operator's configuration or command is wrong; the sentence names what to mend.
    Setup(String),
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A stable code with a sentence that its reader can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What programs match on.
    pub code: Code,
    /// What people and agents read.
    pub message: String,
    /// The argument that is at fault.
    pub field: Option<String>,
    /// The business rule that refused, with [`Code::RuleRefused`].
    pub rule: Option<String>,
    /// Seconds to wait before the same call can succeed.
    pub retry_after_seconds: Option<u64>,
    /// The decision that came first, with [`Code::AlreadyDecided`].
    pub winner: Option<Box<Winner>>,
    /// The ids to acknowledge, with [`Code::RelatedActions`].
    pub related: Box<[String]>,
}

/// Who and what decided an action before the caller could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Winner {
    /// The status the action has now.
    pub status: &'static str,
    /// The person's e-mail address or the agent's name; nobody when it expired.
    pub by: Option<String>,
    /// When, in UTC.
    pub at: Option<chrono::NaiveDateTime>,
}

/// The codes of the public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    InvalidParams,
    NotFound,
    ScopeMissing,
    RateLimited,
    Paused,
    IdempotencyKeyRequired,
    IdempotencyKeyReused,
    RuleRefused,
    Unavailable,
    Internal,
    Unauthenticated,
    Forbidden,
    DigestMismatch,
    SubjectChanged,
    RelatedActions,
    AlreadyDecided,
}

impl Code {
    /// Every code, for documents and tests that list them.
    pub const ALL: [Self; 16] = [
        Self::InvalidParams,
        Self::NotFound,
        Self::ScopeMissing,
        Self::RateLimited,
        Self::Paused,
        Self::IdempotencyKeyRequired,
        Self::IdempotencyKeyReused,
        Self::RuleRefused,
        Self::Unavailable,
        Self::Internal,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::DigestMismatch,
        Self::SubjectChanged,
        Self::RelatedActions,
        Self::AlreadyDecided,
    ];

    /// The code as it appears in answers and audit events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidParams => "invalid_params",
            Self::NotFound => "not_found",
            Self::ScopeMissing => "scope_missing",
            Self::RateLimited => "rate_limited",
            Self::Paused => "paused",
            Self::IdempotencyKeyRequired => "idempotency_key_required",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::RuleRefused => "rule_refused",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::DigestMismatch => "digest_mismatch",
            Self::SubjectChanged => "subject_changed",
            Self::RelatedActions => "related_actions",
            Self::AlreadyDecided => "already_decided",
        }
    }
}

impl Denial {
    /// A denial with nothing but its code and sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            field: None,
            rule: None,
            retry_after_seconds: None,
            winner: None,
            related: Box::default(),
        }
    }

    /// What is told of a defect.
    pub fn defect() -> Self {
        Self::new(Code::Internal, DEFECT)
    }

    /// An argument that can't be accepted.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            ..Self::new(Code::InvalidParams, message)
        }
    }
}

impl From<Denial> for Error {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl Error {
    /// A defect of this program, by its cause.
    pub fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Box::new(cause))
    }

    /// The code that a caller is told.
    pub fn code(&self) -> Code {
        match self {
            Self::Denied(denial) => denial.code,
            Self::Unavailable(_) => Code::Unavailable,
            Self::Internal(_) | Self::Setup(_) => Code::Internal,
        }
    }

    /// What a caller may be told: the denial itself, or an opaque sentence. The cause of the opaque ones is logged here,
    /// once, because nothing else will ever show it.
    pub fn into_denial(self) -> Denial {
        match self {
            Self::Denied(denial) => denial,
            Self::Unavailable(cause) => {
                tracing::warn!(%cause, "the database is unavailable");
                Denial {
                    retry_after_seconds: Some(1),
                    ..Denial::new(
                        Code::Unavailable,
                        "The outcome is unknown. Send the same call again; it will not be done twice.",
                    )
                }
            }
            Self::Internal(cause) => {
                tracing::error!(%cause, "a defect");
                Denial::defect()
            }
            Self::Setup(sentence) => {
                tracing::error!(%sentence, "the set-up is wrong");
                Denial::new(
                    Code::Internal,
                    "Countersign is not set up correctly. The operator's log says what.",
                )
            }
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Denied(denial) => write!(f, "{}: {}", denial.code.as_str(), denial.message),
            Self::Unavailable(cause) => write!(f, "the database is unavailable: {cause}"),
            Self::Internal(cause) => write!(f, "internal error: {cause}"),
            Self::Setup(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for Error {}
