//! Money: whole minor units of an ISO 4217 currency, never a float.

use iso_currency::Currency;

use crate::text::grouped;

/// An amount for reading: "INR 17,758.28", "JPY 1,200", "BHD 1.500". An unknown currency shows minor units.
pub fn text(minor: i64, currency: &str) -> String {
    let exponent = exponent(currency).unwrap_or(0);
    let unit = 10_u64.pow(exponent);
    let (whole, fraction) = (minor.unsigned_abs() / unit, minor.unsigned_abs() % unit);
    let sign = if minor < 0 { "-" } else { "" };
    let whole = grouped(whole);
    match exponent {
        0 => format!("{currency} {sign}{whole}"),
        digits => format!("{currency} {sign}{whole}.{fraction:0width$}", width = digits as usize),
    }
}

/// The amount alone, as [`parse`] reads it: "17758.28".
pub fn decimal(minor: i64, currency: &str) -> String {
    let amount = text(minor, currency);
    amount.trim_start_matches(currency).trim().replace(',', "")
}

/// How many digits the currency has after the point; `None` when ISO 4217 does not know it.
pub fn exponent(currency: &str) -> Option<u32> {
    Currency::from_code(currency).and_then(iso_currency::Currency::exponent).map(u32::from)
}

/// Reads a decimal amount as a price list writes it ("4999.00", "6980") in minor units. `None` when it is no amount of
/// that currency.
pub fn parse(text: &str, currency: &str) -> Option<i64> {
    let exponent = exponent(currency)? as usize;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let rest = fraction.get(exponent..).unwrap_or_default();
    if whole.is_empty() || !digits(whole) || !digits(fraction) || rest.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(exponent)];
    format!("{whole}{fraction:0<exponent$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_none_two_and_three_digits() {
        assert_eq!(text(1_775_828, "INR"), "INR 17,758.28");
        assert_eq!(text(5, "EUR"), "EUR 0.05");
        assert_eq!(text(1_234_567, "JPY"), "JPY 1,234,567");
        assert_eq!(text(1_500, "BHD"), "BHD 1.500");
        assert_eq!(text(i64::MIN, "JPY"), "JPY -9,223,372,036,854,775,808");
        assert_eq!(text(-1, "INR"), "INR -0.01");
    }

    #[test]
    fn reading_what_a_price_list_writes() {
        assert_eq!(parse("4999.00", "INR"), Some(499_900));
        assert_eq!(parse("4999", "INR"), Some(499_900));
        assert_eq!(parse("0.5", "EUR"), Some(50));
        assert_eq!(parse("6980.00", "JPY"), Some(6980));
        assert_eq!(parse("1.5", "BHD"), Some(1500));
        for bad in ["", ".", "-1", "1.234", "1,000", "1e3", "٣", "99999999999999999999"] {
            assert_eq!(parse(bad, "INR"), None, "{bad}");
        }
        assert_eq!(parse("1.00", "ZZZ"), None);
    }
}
