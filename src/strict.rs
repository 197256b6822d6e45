//! The strict reader of JSON, for every door that reads some: one pass over the text, member by member, on top of
//! `serde_json`'s own parser, which would keep the last of two equal members and round what fits no double.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Beyond it, two different integers can become one in a reader that uses doubles.
const LARGEST_WHOLE: u64 = 1 << 53;
/// Well below the depth at which `serde_json` gives up, so that this reader is always the one to judge.
const DEEPEST: usize = 64;
/// A member's name is quoted in a fault up to here; a longer one is the agent's joke, not its mistake.
const LONGEST_NAME: usize = 60;
/// So many steps of a place are quoted.
const LONGEST_PATH: usize = 8;

/// Which part of the text a pass reads. Of an MCP message one part is skipped unread, so that what is wrong in it can't
/// hide the other: a call whose arguments are beyond reading still has an id to answer to.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Of an MCP message: everything but `params.arguments`, which becomes a bare `null`.
    Envelope,
    /// Of an MCP message: `params.arguments` alone.
    Arguments,
}

/// Which numbers a pass accepts.
#[derive(Clone, Copy, PartialEq)]
pub enum Numbers {
    Any,
    Whole,
}

enum Step {
    Member(String),
    Item(usize),
}

/// One pass over the text. It notes the first fault and reads on, because the id may come last.
pub struct Reader {
    part: Part,
    numbers: Numbers,
    path: Vec<Step>,
    /// The first thing that is wrong.
    pub fault: Option<String>,
}

/// What to do with a member's value.
enum Take {
    Read,
    Blank,
    Skip,
}

impl Reader {
    /// A reader of one part.
    pub fn new(part: Part, numbers: Numbers) -> Self {
        Self {
            part,
            numbers,
            path: Vec::new(),
            fault: None,
        }
    }

    /// Reads the whole text. Only what is no JSON is an error here; the rest is a fault.
    pub fn read(&mut self, text: &str) -> serde_json::Result<Value> {
        let mut json = serde_json::Deserializer::from_str(text);
        let value = Node(self).deserialize(&mut json)?;
        json.end()?;
        Ok(value)
    }

    /// Reads `params.arguments`, or says what is wrong with them. The text around them was read before.
    pub fn arguments(mut self, text: &str) -> Result<Value, String> {
        let read = self.read(text);
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match read {
            Ok(mut message) => Ok(message["params"]["arguments"].take()),
            Err(_) => {
                Err("`arguments` holds a number out of range or text that is not valid Unicode.".to_owned())
            }
        }
    }

    fn take(&self, member: &str) -> Take {
        if self.part == Part::Whole {
            return Take::Read;
        }
        let wanted = match self.path.as_slice() {
            [] => member == "params",
            [Step::Member(top)] if top == "params" => member == "arguments",
            _ => return Take::Read,
        };
        match (self.part, self.path.len(), wanted) {
            (Part::Envelope, 1, true) => Take::Blank,
            (Part::Arguments, _, false) => Take::Skip,
            _ => Take::Read,
        }
    }

    fn note(&mut self, wrong: &str) {
        if self.fault.is_none() {
            self.fault = Some(format!("`{}` {wrong}", self.place()));
        }
    }

    /// The place being read, as its writer would write it: `lines[2].sku`, below `arguments` where they are read.
    fn place(&self) -> String {
        let (above, root) = match self.part {
            Part::Whole => (0, "body"),
            Part::Envelope => (0, "message"),
            Part::Arguments => (2, "arguments"),
        };
        if self.path.len() <= above {
            return root.to_owned();
        }
        let mut place = String::new();
        for (depth, step) in self.path.iter().skip(above).take(LONGEST_PATH).enumerate() {
            match step {
                Step::Item(index) => place = format!("{place}[{index}]"),
                Step::Member(name) => {
                    place.push_str(if depth > 0 { "." } else { "" });
                    place.extend(name.chars().take(LONGEST_NAME).flat_map(char::escape_debug));
                }
            }
        }
        place
    }

    fn whole(&mut self, whole: bool) {
        if self.numbers == Numbers::Whole && !whole {
            self.note(
                "must be a whole number from -2^53 to 2^53, written without a decimal point or an exponent.",
            );
        }
    }
}

/// The value at the reader's place.
struct Node<'r>(&'r mut Reader);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        if self.0.path.len() > DEEPEST {
            self.0.note("is nested too deeply.");
            json.deserialize_ignored_any(IgnoredAny)?;
            return Ok(Value::Null);
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        self.0.whole(value.unsigned_abs() <= LARGEST_WHOLE);
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        self.0.whole(value <= LARGEST_WHOLE);
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        self.0.whole(false);
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        loop {
            self.0.path.push(Step::Item(read.len()));
            let item = items.next_element_seed(Node(self.0))?;
            self.0.path.pop();
            match item {
                Some(item) => read.push(item),
                None => return Ok(Value::Array(read)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let take = self.0.take(&name);
            if let Take::Skip = take {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let twice = read.contains_key(&name);
            self.0.path.push(Step::Member(name.clone()));
            if twice {
                self.0.note("is given twice.");
            }
            let value = if twice || matches!(take, Take::Blank) {
                members.next_value::<IgnoredAny>()?;
                // Of two equal members neither counts; an id given twice is no id.
                Value::Null
            } else {
                members.next_value_seed(Node(self.0))?
            };
            self.0.path.pop();
            read.insert(name, value);
        }
        Ok(Value::Object(read))
    }
}
