//! A CSV file with a header line, read cell by cell.

use std::collections::HashMap;

use chrono::DateTime;
use csv::{ReaderBuilder, StringRecord};

use crate::{
    db::Timestamp,
    error::{Error, Result},
    money,
};

/// The largest count of pieces, and the largest amount: what every JSON reader still reads exactly.
const MOST: i64 = (1 << 53) - 1;

/// One file.
pub(super) struct Sheet<'a> {
    file: &'a str,
    columns: HashMap<String, usize>,
    rows: Vec<StringRecord>,
}

/// One line of it.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    sheet: &'a Sheet<'a>,
    record: &'a StringRecord,
}

impl<'a> Sheet<'a> {
    /// Reads a file that has at least these columns.
    pub(super) fn read(file: &'a str, text: &str, columns: &[&str]) -> Result<Self> {
        // A file that went through a spreadsheet begins with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
        let unreadable = |error: csv::Error| {
            let line = error.position().map_or(1, csv::Position::line);
            let what = match error.kind() {
                csv::ErrorKind::UnequalLengths {
                    expected_len, len, ..
                } => {
                    format!("there are {len} columns instead of {expected_len}")
                }
                _ => error.to_string(),
            };
            Error::Setup(format!("{file}, line {line}: {what}."))
        };
        let header = reader.headers().map_err(unreadable)?;
        let found: HashMap<String, usize> =
            header.iter().enumerate().map(|(index, name)| (name.trim().to_owned(), index)).collect();
        if let Some(missing) = columns.iter().find(|name| !found.contains_key(**name)) {
            return Err(Error::Setup(format!("{file}, line 1: there is no column {missing:?}.")));
        }
        let rows = reader.records().collect::<Result<_, _>>().map_err(unreadable)?;
        Ok(Self {
            file,
            columns: found,
            rows,
        })
    }

    pub(super) fn rows(&'a self) -> impl Iterator<Item = Row<'a>> {
        self.rows.iter().map(|record| Row { sheet: self, record })
    }
}

impl<'a> Row<'a> {
    /// A cell without white space around it; empty when there is nothing.
    pub(super) fn text(&self, column: &str) -> &'a str {
        let index = self.sheet.columns.get(column);
        index.and_then(|index| self.record.get(*index)).unwrap_or_default().trim()
    }

    /// A cell that must say something.
    pub(super) fn required(&self, column: &str) -> Result<&'a str> {
        match self.text(column) {
            "" => Err(self.wrong(column, "is empty")),
            text => Ok(text),
        }
    }

    /// A whole number from `least`.
    pub(super) fn count(&self, column: &str, least: i64) -> Result<i64> {
        let count = self.text(column).parse().ok().filter(|count| (least..=MOST).contains(count));
        count.ok_or_else(|| self.wrong(column, &format!("must be a whole number from {least}")))
    }

    /// An amount in minor units; an empty cell is nothing.
    pub(super) fn amount(&self, column: &str, currency: &str) -> Result<i64> {
        match self.text(column) {
            "" => Ok(0),
            text => money::parse(text, currency).filter(|minor| *minor <= MOST).ok_or_else(|| {
                self.wrong(column, &format!("must be an amount in {currency} such as 4999.00"))
            }),
        }
    }

    /// A time as the exports write it, or nothing.
    pub(super) fn time(&self, column: &str) -> Result<Option<Timestamp>> {
        match self.text(column) {
            "" => Ok(None),
            text => DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S %z")
                .map(|at| Some(at.naive_utc()))
                .map_err(|_| self.wrong(column, "must be a time such as 2025-12-06 15:36:16 +0000")),
        }
    }

    /// One of a closed set of words.
    pub(super) fn word<T: std::str::FromStr<Err = String>>(&self, column: &str) -> Result<T> {
        self.text(column).parse().map_err(|wanted: String| self.wrong(column, &wanted))
    }

    /// The sentence that names what is wrong, and where.
    pub(super) fn wrong(&self, column: &str, what: &str) -> Error {
        let line = self.record.position().map_or(0, csv::Position::line);
        Error::Setup(format!("{}, line {line}, column {column:?} {what}.", self.sheet.file))
    }
}
