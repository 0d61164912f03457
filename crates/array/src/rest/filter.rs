//! The filter language of lists: `name='data*' and enabled='true'`, `contains(services, 'data')`.

use serde_json::Value;

/// A parsed filter.
#[derive(Debug, PartialEq)]
pub(super) enum Filter {
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
    /// A field, an operator, and values, one of which must match.
    Compare(String, Operator, Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    Greater,
    AtMost,
    AtLeast,
    Contains,
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// [`FilterError`].
    pub(super) fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0 };
        let filter = parser.or()?;
        match parser.peek() {
            None => Ok(filter),
            Some(token) => Err(FilterError::Unexpected(token.clone())),
        }
    }

    /// Whether an item matches.
    pub(super) fn passes(&self, item: &Value) -> bool {
        match self {
            Self::And(a, b) => a.passes(item) && b.passes(item),
            Self::Or(a, b) => a.passes(item) || b.passes(item),
            Self::Not(a) => !a.passes(item),
            Self::Compare(field, operator, values) => {
                let pointer = format!("/{}", field.replace('.', "/"));
                let found = item.pointer(&pointer).unwrap_or(&Value::Null);
                values.iter().any(|value| compare(found, *operator, value))
            }
        }
    }
}

/// A list matches if one of its elements does.
fn compare(found: &Value, operator: Operator, wanted: &str) -> bool {
    if let Value::Array(elements) = found {
        return match operator {
            Operator::Unequal => !elements.iter().any(|element| compare(element, Operator::Equal, wanted)),
            _ => elements.iter().any(|element| compare(element, operator, wanted)),
        };
    }
    let text = match found {
        Value::String(text) => text.clone(),
        Value::Null => return wanted == "null" && operator == Operator::Equal,
        other => other.to_string(),
    };
    let order = || match (text.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.partial_cmp(&b),
        _ => Some(text.as_str().cmp(wanted)),
    };
    match operator {
        Operator::Equal => fits(wanted, &text),
        Operator::Unequal => !fits(wanted, &text),
        Operator::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Operator::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Operator::AtMost => order().is_some_and(std::cmp::Ordering::is_le),
        Operator::AtLeast => order().is_some_and(std::cmp::Ordering::is_ge),
        Operator::Contains => text.contains(wanted),
    }
}

/// Equality, where `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text
            .strip_prefix(head)
            .is_some_and(|rest| rest.char_indices().any(|(at, _)| fits(tail, &rest[at..])) || fits(tail, "")),
    }
}

/// Why a text is no filter, as a sentence of the API.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum FilterError {
    #[error("Invalid filter: unexpected {0:?}.")]
    Unexpected(Token),
    #[error("Invalid filter: a quote is not closed.")]
    OpenQuote,
    #[error("Invalid filter: it ends too early.")]
    EndsEarly,
    #[error("Invalid filter: {0} is missing.")]
    NoSign(&'static str),
    #[error("Invalid filter: a field is missing.")]
    NoField,
    #[error("Invalid filter: {0:?} is not an operator.")]
    NoOperator(Token),
    #[error("Invalid filter: there is no function {0}.")]
    NoFunction(String),
    #[error("Invalid filter: a value is missing before {before}.")]
    NoValue { before: String },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Text(String),
    Sign(String),
}

fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => {
                let end = rest[1..].find(first).ok_or(FilterError::OpenQuote)?;
                found.push(Token::Text(rest[1..=end].to_owned()));
                end + 2
            }
            '(' | ')' | ',' => {
                found.push(Token::Sign(first.into()));
                1
            }
            '=' | '!' | '<' | '>' => {
                let length = if rest[1..].starts_with('=') { 2 } else { 1 };
                found.push(Token::Sign(rest[..length].to_owned()));
                length
            }
            _ => {
                let end =
                    rest.find(|c: char| c.is_whitespace() || "'\"(),=!<>".contains(c)).unwrap_or(rest.len());
                found.push(Token::Word(rest[..end].to_owned()));
                end
            }
        };
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Result<Token, FilterError> {
        let token = self.peek().cloned().ok_or(FilterError::EndsEarly)?;
        self.at += 1;
        Ok(token)
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = match self.peek() {
            Some(Token::Word(text)) => text.eq_ignore_ascii_case(word),
            Some(Token::Sign(text)) => text == word,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), FilterError> {
        if self.takes(sign) { Ok(()) } else { Err(FilterError::NoSign(sign)) }
    }

    fn or(&mut self) -> Result<Filter, FilterError> {
        let mut left = self.and()?;
        while self.takes("or") {
            left = Filter::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Filter, FilterError> {
        let mut left = self.not()?;
        while self.takes("and") {
            left = Filter::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Filter, FilterError> {
        if self.takes("not") {
            return Ok(Filter::Not(Box::new(self.not()?)));
        }
        if self.takes("(") {
            let inner = self.or()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let Token::Word(field) = self.next()? else {
            return Err(FilterError::NoField);
        };
        if self.takes("(") {
            return self.function(&field);
        }
        let operator = match self.next()? {
            Token::Sign(sign) if sign == "=" || sign == "==" => Operator::Equal,
            Token::Sign(sign) if sign == "!=" => Operator::Unequal,
            Token::Sign(sign) if sign == "<" => Operator::Less,
            Token::Sign(sign) if sign == ">" => Operator::Greater,
            Token::Sign(sign) if sign == "<=" => Operator::AtMost,
            Token::Sign(sign) if sign == ">=" => Operator::AtLeast,
            other => return Err(FilterError::NoOperator(other)),
        };
        let values = if self.takes("(") { self.values()? } else { vec![self.value()?] };
        Ok(Filter::Compare(field, operator, values))
    }

    /// `contains(field, 'x')` and `in(field, ('x', 'y'))`.
    fn function(&mut self, name: &str) -> Result<Filter, FilterError> {
        let Token::Word(field) = self.next()? else {
            return Err(FilterError::NoField);
        };
        self.expect(",")?;
        let filter = match name {
            "contains" => Filter::Compare(field, Operator::Contains, vec![self.value()?]),
            "in" => {
                self.expect("(")?;
                Filter::Compare(field, Operator::Equal, self.values()?)
            }
            _ => return Err(FilterError::NoFunction(name.to_owned())),
        };
        self.expect(")")?;
        Ok(filter)
    }

    fn values(&mut self) -> Result<Vec<String>, FilterError> {
        let mut values = vec![self.value()?];
        while self.takes(",") {
            values.push(self.value()?);
        }
        self.expect(")")?;
        Ok(values)
    }

    fn value(&mut self) -> Result<String, FilterError> {
        match self.next()? {
            Token::Text(text) | Token::Word(text) => Ok(text),
            Token::Sign(sign) => Err(FilterError::NoValue { before: sign }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn filters_choose_items() {
        let item = json!({
            "name": "data1", "enabled": true, "mtu": 9000, "services": ["data"], "subnet": {"name": "s1"}, "gateway": null
        });
        for (filter, passes) in [
            ("name='data1'", true),
            ("name='data*'", true),
            ("name='*1'", true),
            ("name='d*t*1'", true),
            ("name='d*x*1'", false),
            ("name='data'", false),
            ("name!='data1'", false),
            ("services='data'", true),
            ("services!='data'", false),
            ("services='replication'", false),
            ("contains(name, 'ata')", true),
            ("enabled='true' and mtu>1500", true),
            ("enabled=true and mtu<=1500", false),
            ("not(name='x') and (mtu=1500 or mtu=9000)", true),
            ("subnet.name=('s0','s1')", true),
            ("in(subnet.name, ('s2','s3'))", false),
            ("nothing='x'", false),
            ("gateway=null", true),
        ] {
            assert_eq!(Filter::parse(filter).unwrap().passes(&item), passes, "{filter}");
        }
    }

    #[test]
    fn a_wrong_filter_is_refused() {
        for filter in
            ["", "name", "name=", "name='x", "(name='x'", "name='x' extra", "='x'", "f(name,'x')", "name,'x'"]
        {
            assert!(Filter::parse(filter).is_err(), "{filter:?}");
        }
    }
}
