//! The form as a browser sent it, read field by field: what is left in the end is no field of it.

use std::collections::BTreeMap;

use super::{AmountRow, Choice, KindRow, MailForm, lists};
use crate::{
    auth::guard::FORM_TOKEN,
    kinds::{KindSpec, Registry},
    store::{people::Person, preferences::Timing},
};

impl MailForm {
    /// The form as a browser sent it. What it does not hold is as empty as what it holds empty. What it holds beside its fields,
    /// or beside the choices of one, is refused, so that nothing is left out unseen.
    pub fn sent(fields: Vec<(String, String)>, person: &Person, registry: &Registry) -> Self {
        let mut fields = Fields {
            left: fields.into_iter().collect(),
            refused: None,
        };
        let form = Self {
            time_zone: fields.text("time_zone"),
            quiet_from: fields.text("quiet_from"),
            quiet_until: fields.text("quiet_until"),
            lists: lists(person)
                .map(|list| Choice::of(list, fields.take(&format!("list.{list}")).is_some()))
                .collect(),
            kinds: registry.kinds().map(|known| fields.kind(known.spec(), person)).collect(),
            refused: None,
            kept: false,
        };
        Self {
            refused: fields.refused(),
            ..form
        }
    }
}

/// What was sent and is yet to be read.
struct Fields {
    left: BTreeMap<String, String>,
    /// What is wrong with what was read.
    refused: Option<String>,
}

impl Fields {
    fn take(&mut self, name: &str) -> Option<String> {
        self.left.remove(name).map(|value| value.trim().to_owned())
    }

    fn text(&mut self, name: &str) -> String {
        self.take(name).unwrap_or_default()
    }

    fn timing(&mut self, name: &str, otherwise: Timing) -> Timing {
        let text = self.text(name);
        if text.is_empty() {
            return otherwise;
        }
        text.parse().unwrap_or_else(|_| {
            self.refused =
                Some(format!("{text} is none of the times to be told at. Choose one of the list."));
            otherwise
        })
    }

    fn kind(&mut self, spec: &KindSpec, person: &Person) -> KindRow {
        let mut row = KindRow::empty(spec, person);
        row.timing = self.timing(&row.field("timing"), row.timing);
        let Some(blank) = row.amounts.pop() else { return row };
        for number in 0.. {
            let Some(from) = self.take(&row.field_of("from", number)) else { break };
            let unit = if row.money {
                self.text(&row.field_of("unit", number)).to_uppercase()
            } else {
                blank.unit.clone()
            };
            let timing = self.timing(&row.field_of("timing", number), blank.timing);
            if !from.is_empty() {
                row.amounts.push(AmountRow { from, unit, timing });
            }
        }
        row.amounts.push(blank);
        row
    }

    /// What is wrong with all of it.
    fn refused(self) -> Option<String> {
        let unknown = || self.left.into_keys().find(|name| name != FORM_TOKEN);
        self.refused.or_else(|| {
            unknown()
                .map(|name| format!("{name} is no field of this form as it is now. Open the page again."))
        })
    }
}
