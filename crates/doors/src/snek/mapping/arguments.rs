//! The arguments of a call, given by position or by name.

use std::borrow::Cow;
use std::collections::HashMap;

use folkmoot_core::Refusal;
use folkmoot_core::ids::ChannelId;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The names one parameter goes by: the document's, and those that real clients use.
pub type Names = &'static [&'static str];

/// What was given for each parameter of a method.
pub struct Arguments<'a> {
    method: &'static str,
    parameters: &'static [Names],
    given: Vec<Option<&'a RawValue>>,
}

impl<'a> Arguments<'a> {
    pub fn bind(
        method: &'static str,
        parameters: &'static [Names],
        args: Option<&'a RawValue>,
        kwargs: Option<&'a RawValue>,
    ) -> Result<Self, Refusal> {
        let mut given = positional(args)?;
        if given.len() > parameters.len() {
            let most = parameters.len();
            return Err(Refusal::bad_request(format!("`{method}` takes at most {most} arguments")));
        }
        given.resize(parameters.len(), None);
        let mut bound = Self { method, parameters, given };
        for (name, value) in named(kwargs)? {
            bound.put(&name, value)?;
        }
        Ok(bound)
    }

    fn put(&mut self, name: &str, value: &'a RawValue) -> Result<(), Refusal> {
        let method = self.method;
        let Some(index) = self.parameters.iter().position(|names| names.contains(&name)) else {
            let shown: String = name.chars().take(80).collect();
            return Err(Refusal::bad_request(format!("`{method}` has no argument `{shown}`")));
        };
        if self.given[index].is_some() {
            return Err(Refusal::bad_request(format!("`{method}` got `{}` twice", self.parameters[index][0])));
        }
        self.given[index] = Some(value);
        Ok(())
    }

    /// A value that may be left out or `null`.
    fn optional<T: Deserialize<'a>>(&self, index: usize, what: &str) -> Result<Option<T>, Refusal> {
        let Some(raw) = self.given[index].filter(|raw| raw.get() != "null") else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| {
            let name = self.parameters[index][0];
            Refusal::bad_request(format!("`{name}` of `{}` must be {what}", self.method))
        })
    }

    pub fn optional_text(&self, index: usize) -> Result<Option<String>, Refusal> {
        Ok(self.optional::<Cow<'a, str>>(index, "a string")?.map(Cow::into_owned))
    }

    pub fn text(&self, index: usize) -> Result<String, Refusal> {
        self.optional_text(index)?.ok_or_else(|| {
            let name = self.parameters[index][0];
            Refusal::bad_request(format!("`{}` needs `{name}`", self.method))
        })
    }

    pub fn channel(&self, index: usize) -> Result<ChannelId, Refusal> {
        Ok(ChannelId::parse(&self.text(index)?))
    }

    pub fn flag(&self, index: usize, otherwise: bool) -> Result<bool, Refusal> {
        Ok(self.optional_flag(index)?.unwrap_or(otherwise))
    }

    pub fn optional_flag(&self, index: usize) -> Result<Option<bool>, Refusal> {
        self.optional(index, "true or false")
    }

    pub fn number(&self, index: usize) -> Result<Option<usize>, Refusal> {
        self.optional(index, "a whole number that is not negative")
    }

    /// A moment: milliseconds, or a text as the hub writes them.
    pub fn moment(&self, index: usize) -> Result<Option<folkmoot_core::Millis>, Refusal> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Moment<'a> {
            Number(i64),
            #[serde(borrow)]
            Text(Cow<'a, str>),
        }
        const WHAT: &str = "a moment such as \"2026-02-01T12:00:00Z\" or milliseconds since 1970";
        match self.optional::<Moment<'a>>(index, WHAT)? {
            None => Ok(None),
            Some(Moment::Number(milliseconds)) => Ok(Some(milliseconds)),
            Some(Moment::Text(text)) => match folkmoot_core::moment::from_iso(&text) {
                Some(milliseconds) => Ok(Some(milliseconds)),
                None => Err(Refusal::bad_request(format!("`timestamp` of `{}` must be {WHAT}", self.method))),
            },
        }
    }
}

/// `args`; left out or `null` it is empty.
pub fn positional<'a>(args: Option<&'a RawValue>) -> Result<Vec<Option<&'a RawValue>>, Refusal> {
    let Some(args) = args else { return Ok(Vec::new()) };
    let items: Vec<&'a RawValue> =
        serde_json::from_str(args.get()).map_err(|_| Refusal::bad_request("`args` must be an array"))?;
    Ok(items.into_iter().map(Some).collect())
}

fn named<'a>(kwargs: Option<&'a RawValue>) -> Result<HashMap<Cow<'a, str>, &'a RawValue>, Refusal> {
    let Some(kwargs) = kwargs.filter(|raw| raw.get() != "{}") else { return Ok(HashMap::new()) };
    serde_json::from_str(kwargs.get()).map_err(|_| Refusal::bad_request("`kwargs` must be an object"))
}
