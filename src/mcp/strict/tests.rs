//! What the strict reader takes and what it refuses, message by message.

use serde_json::{Value, json};

use super::{INVALID_REQUEST, PARSE_ERROR, Refusal, read};
use crate::gateway::Arguments;

/// A tool call with these arguments, as an agent would send it.
fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"request_refund","arguments":{arguments}}}}}"#
    )
}

fn faulty(arguments: &str) -> String {
    let message = read(call(arguments).as_bytes()).expect("the envelope is sound");
    assert_eq!(message.id(), Some(json!(7)));
    match message.arguments {
        Some(Arguments::Faulty(fault)) => fault,
        other => panic!("{arguments} gave {other:?}"),
    }
}

fn sound(message: &str) -> Value {
    match read(message.as_bytes()).expect("the envelope is sound").arguments {
        Some(Arguments::Read(arguments)) => Value::Object(arguments),
        other => panic!("{message} gave {other:?}"),
    }
}

fn refused(message: &[u8]) -> (Option<Value>, i32, String) {
    let Refusal { id, code, message } = read(message).expect_err("refused");
    (id, code, message)
}

#[test]
fn a_sound_call_keeps_its_arguments_and_gives_them_to_nobody_else() {
    let message =
        read(call(r##"{"order_id":"#1044","amount_minor":100,"deep":[{"a":null},true,-5]}"##).as_bytes());
    let message = message.expect("sound");
    assert_eq!(
        message.envelope,
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "request_refund"}})
    );
    let Some(Arguments::Read(arguments)) = message.arguments else {
        panic!("sound")
    };
    assert_eq!(
        Value::Object(arguments),
        json!({"order_id": "#1044", "amount_minor": 100, "deep": [{"a": null}, true, -5]})
    );
}

#[test]
fn the_order_of_members_does_not_matter() {
    let message =
        r#"{"params":{"arguments":{"a":1},"name":"x"},"method":"tools/call","id":"s","jsonrpc":"2.0"}"#;
    assert_eq!(sound(message), json!({"a": 1}));
}

#[test]
fn no_arguments_null_and_an_empty_object_are_the_same() {
    assert_eq!(
        sound(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#),
        json!({})
    );
    assert_eq!(sound(&call("null")), json!({}));
    assert_eq!(sound(&call("{}")), json!({}));
}

#[test]
fn faults_inside_arguments_name_the_member() {
    let whole = "must be a whole number from -2^53 to 2^53, written without a decimal point or an exponent.";
    for (arguments, fault) in [
        (r#"{"amount_minor":1,"amount_minor":2}"#, "`amount_minor` is given twice.".to_owned()),
        (r#"{"amount_minor":1,"amount\u005fminor":2}"#, "`amount_minor` is given twice.".to_owned()),
        (r#"{"a":1,"a":1,"a":1}"#, "`a` is given twice.".to_owned()),
        (r#"{"a":{"b":[0,{"c":1,"c":1}]}}"#, "`a.b[1].c` is given twice.".to_owned()),
        (r#"{"":1,"":1}"#, "`` is given twice.".to_owned()),
        (r#"{"amount_minor":1.5}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":1.0}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":1e2}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":-0}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":-0.0}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":9007199254740993}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":-9007199254740993}"#, format!("`amount_minor` {whole}")),
        (r#"{"amount_minor":18446744073709551616}"#, format!("`amount_minor` {whole}")),
        (r#"{"a":[1,{"b":0.1}]}"#, format!("`a[1].b` {whole}")),
        ("5", "`arguments` must be a JSON object.".to_owned()),
        ("0.5", format!("`arguments` {whole}")),
        (r#""text""#, "`arguments` must be a JSON object.".to_owned()),
        ("[]", "`arguments` must be a JSON object.".to_owned()),
        ("true", "`arguments` must be a JSON object.".to_owned()),
        (r#"{"a":"\u202e","\u202e":1,"\u202e":1}"#, "`\\u{202e}` is given twice.".to_owned()),
    ] {
        assert_eq!(faulty(arguments), fault, "{arguments}");
    }
}

#[test]
fn what_serde_json_itself_gives_up_on_is_still_only_a_fault_of_the_arguments() {
    for arguments in [
        r#"{"a":1e999}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"\udc00":1}"#,
        &format!("{{\"a\":{}}}", "9".repeat(400)),
    ] {
        assert_eq!(
            faulty(arguments),
            "`arguments` holds a number out of range or text that is not valid Unicode.",
            "{arguments}"
        );
    }
}

#[test]
fn depth_is_a_fault_before_it_is_a_danger() {
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(
        read(call(&nested(50)).as_bytes()).is_ok_and(|m| matches!(m.arguments, Some(Arguments::Read(_))))
    );
    assert_eq!(faulty(&nested(100)), "`a[0][0][0][0][0][0][0]` is nested too deeply.");
    assert_eq!(faulty(&nested(100_000)), "`a[0][0][0][0][0][0][0]` is nested too deeply.");

    let meta =
        format!(r#"{{"id":1,"method":"ping","params":{{"_meta":{}{}}}}}"#, "[".repeat(90), "]".repeat(90));
    let (id, code, _) = refused(meta.as_bytes());
    assert_eq!((id, code), (Some(json!(1)), INVALID_REQUEST));
}

#[test]
fn the_largest_whole_numbers_pass() {
    for arguments in [r#"{"a":9007199254740992}"#, r#"{"a":-9007199254740992}"#, r#"{"a":0}"#] {
        assert_eq!(sound(&call(arguments)).to_string(), arguments);
    }
}

#[test]
fn faults_in_the_envelope_are_protocol_errors_with_the_id() {
    for (message, id, fault) in [
        (r#"{"id":1,"id":1,"method":"ping"}"#, None, "`id` is given twice."),
        (r#"{"id":1,"id":2,"id":3,"method":"ping"}"#, None, "`id` is given twice."),
        (
            r#"{"method":"ping","method":"tools/call","id":"x"}"#,
            Some(json!("x")),
            "`method` is given twice.",
        ),
        (
            r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            Some(json!(1)),
            "`params.name` is given twice.",
        ),
        (
            r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{}}}"#,
            Some(json!(1)),
            "`params.arguments` is given twice.",
        ),
        (
            r#"{"id":1,"method":"tools/call","params":{},"params":{}}"#,
            Some(json!(1)),
            "`params` is given twice.",
        ),
        (
            r#"{"id":1,"method":"prompts/get","params":{"arguments":{"a":1,"a":1}}}"#,
            Some(json!(1)),
            "`a` is given twice.",
        ),
        (r#"{"id":1.5,"method":"ping","x":{"y":1,"y":1}}"#, None, "`x.y` is given twice."),
    ] {
        assert_eq!(refused(message.as_bytes()), (id, INVALID_REQUEST, fault.to_owned()), "{message}");
    }
}

#[test]
fn batches_and_scalars_are_refused_whole() {
    for message in [
        "[]",
        &format!("[{}]", call("{}")),
        &format!("[{0},{0}]", call("{}")),
        "null",
        "7",
        "\"x\"",
    ] {
        let (id, code, _) = refused(message.as_bytes());
        assert_eq!((id, code), (None, INVALID_REQUEST), "{message}");
    }
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    let cases: [&[u8]; 12] = [
        b"",
        b"{",
        b"{} {}",
        b"[1,",
        b"{'a':1}",
        b"{\"a\":01}",
        b"{\"a\":NaN}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xff\"}",
        b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{\"a\":\"\xc3\x28\"}}}",
        b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{\"a\":}}}",
        b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{\"a\":\"\0\"}}}",
    ];
    for message in cases {
        let (id, code, _) = refused(message);
        assert_eq!((id, code), (None, PARSE_ERROR), "{}", String::from_utf8_lossy(message));
    }
}

#[test]
fn escaped_nul_and_odd_text_are_the_gateways_to_judge() {
    assert_eq!(sound(&call(r#"{"a":"\u0000\u202e"}"#)), json!({"a": "\0\u{202e}"}));
}

#[test]
fn other_methods_keep_their_arguments() {
    let message =
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","arguments":{"a":1.5}}}"#;
    let read = read(message.as_bytes()).expect("sound");
    assert!(read.arguments.is_none());
    assert_eq!(read.envelope, serde_json::from_str::<Value>(message).expect("JSON"));
}

#[test]
fn an_error_without_a_readable_id_has_none() {
    assert_eq!(
        Refusal::new(None, PARSE_ERROR, "No.").to_json(),
        json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "No."}})
    );
    assert_eq!(
        Refusal::new(Some(json!("a")), INVALID_REQUEST, "No.").to_json(),
        json!({"jsonrpc": "2.0", "id": "a", "error": {"code": -32600, "message": "No."}})
    );
}
