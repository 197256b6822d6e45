//! What is printed.

use std::fmt;

use super::load::Figures;

/// Rows in the order of what they are about.
#[derive(Default)]
pub struct Table(Vec<Row>);

struct Row {
    what: &'static str,
    at_once: usize,
    figures: Figures,
    floors: Vec<(&'static str, f64)>,
}

impl Table {
    pub fn row(
        &mut self,
        what: &'static str,
        at_once: usize,
        figures: Figures,
        floors: &[(&'static str, f64)],
    ) {
        let floors = floors.to_vec();
        self.0.push(Row {
            what,
            at_once,
            figures,
            floors,
        });
        self.0.sort_by_key(|row| (row.what, row.at_once));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "            at once  a second    p50 ms    p99 ms   of its floor")?;
        for Row {
            what,
            at_once,
            figures,
            floors,
        } in &self.0
        {
            let (median, p99) = (figures.median.as_secs_f64() * 1e3, figures.p99.as_secs_f64() * 1e3);
            write!(f, "{what:<12}{at_once:>7}{:>10.0}{median:>10.2}{p99:>10.2}", figures.rate)?;
            for (floor, rate) in floors {
                write!(f, "   {:.2} of {floor}'s {rate:.0}", figures.rate / rate)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
