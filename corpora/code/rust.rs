//! A calculator with variables and error positions.
//!
//! ```text
//! width = 0x20 * 1.5
//! → 48
//! sqrt(width ^ 2 + 20 ^ 2)
//! → 52
//! ```
//!
//! Tokens borrow from the source line.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::iter::Peekable;
use std::str::CharIndices;

const RESULT_MARK: &str = "→ ";

type Result<T, E = CalcError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq)]
pub enum CalcError {
    Unexpected { at: usize },
    UnexpectedEnd,
    BadNumber(String),
    UnknownName(String),
    DivisionByZero,
}

impl fmt::Display for CalcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { at } => write!(f, "syntax error at byte {at}"),
            Self::UnexpectedEnd => f.write_str("line ended too early"),
            Self::BadNumber(text) => write!(f, "`{text}` is not a number"),
            Self::UnknownName(name) => write!(f, "nothing is called `{name}`"),
            Self::DivisionByZero => f.write_str("division by zero"),
        }
    }
}

impl std::error::Error for CalcError {}

#[derive(Clone, Copy, PartialEq)]
enum Token<'src> {
    Number(f64),
    Name(&'src str),
    Symbol(char),
}

struct Lexer<'src> {
    source: &'src str,
    chars: Peekable<CharIndices<'src>>,
}

impl<'src> Lexer<'src> {
    /// Consumes characters while `accept` holds.
    fn take_while(&mut self, start: usize, accept: impl Fn(char) -> bool) -> &'src str {
        while self.chars.next_if(|&(_, c)| accept(c)).is_some() {}
        let end = self.chars.peek().map_or(self.source.len(), |&(at, _)| at);
        &self.source[start..end]
    }

    fn number(&mut self, at: usize) -> Result<f64> {
        let text = self.take_while(at, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        let digits = text.replace('_', "");
        match digits.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok().map(f64::from),
            None => digits.parse().ok(),
        }
        .ok_or_else(|| CalcError::BadNumber(text.to_owned()))
    }
}

impl<'src> Iterator for Lexer<'src> {
    type Item = Result<(usize, Token<'src>)>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.chars.next_if(|&(_, c)| c.is_whitespace()).is_some() {}
        let &(at, first) = self.chars.peek()?;
        let token = match first {
            '0'..='9' | '.' => self.number(at).map(Token::Number),
            c if c.is_alphabetic() || c == '_' => {
                let name = self.take_while(at, |c| c.is_alphanumeric() || c == '_');
                Ok(Token::Name(name))
            }
            '+' | '-' | '*' | '/' | '^' | '(' | ')' | '=' => {
                self.chars.next();
                Ok(Token::Symbol(first))
            }
            _ => Err(CalcError::Unexpected { at }),
        };
        Some(token.map(|token| (at, token)))
    }
}

enum Expr<'src> {
    Number(f64),
    Variable(&'src str),
    Negate(Box<Expr<'src>>),
    Binary { op: char, left: Box<Expr<'src>>, right: Box<Expr<'src>> },
    Call { name: &'src str, arg: Box<Expr<'src>> },
}

struct Parser<'src> {
    tokens: Vec<(usize, Token<'src>)>,
    position: usize,
}

impl<'src> Parser<'src> {
    fn peek(&self) -> Option<Token<'src>> {
        self.tokens.get(self.position).map(|&(_, token)| token)
    }

    fn eat(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(Token::Symbol(symbol));
        self.position += usize::from(found);
        found
    }

    fn unexpected(&self) -> CalcError {
        match self.tokens.get(self.position) {
            Some(&(at, _)) => CalcError::Unexpected { at },
            None => CalcError::UnexpectedEnd,
        }
    }

    fn expression(&mut self, min_power: u8) -> Result<Expr<'src>> {
        let mut left = self.operand()?;
        while let Some(Token::Symbol(op)) = self.peek() {
            let Some((left_power, right_power)) = binding_power(op) else { break };
            if left_power < min_power {
                break;
            }
            self.position += 1;
            let right = Box::new(self.expression(right_power)?);
            left = Expr::Binary { op, left: Box::new(left), right };
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expr<'src>> {
        if self.eat('-') {
            return self.expression(5).map(|inner| Expr::Negate(Box::new(inner)));
        }
        if self.eat('(') {
            let inner = self.expression(0)?;
            return if self.eat(')') { Ok(inner) } else { Err(self.unexpected()) };
        }
        let operand = match self.peek() {
            Some(Token::Number(value)) => Expr::Number(value),
            Some(Token::Name(name)) => Expr::Variable(name),
            _ => return Err(self.unexpected()),
        };
        self.position += 1;
        match operand {
            // A name directly followed by a parenthesis is a function.
            Expr::Variable(name) if self.peek() == Some(Token::Symbol('(')) => {
                Ok(Expr::Call { name, arg: Box::new(self.operand()?) })
            }
            other => Ok(other),
        }
    }
}

/// Left and right binding power; `^` groups to the right.
fn binding_power(op: char) -> Option<(u8, u8)> {
    Some(match op {
        '+' | '-' => (1, 2),
        '*' | '/' => (3, 4),
        '^' => (8, 7),
        _ => return None,
    })
}

#[derive(Default)]
pub struct Calculator {
    variables: HashMap<String, f64>,
}

impl Calculator {
    pub fn run(&mut self, line: &str) -> Result<f64> {
        let lexer = Lexer { source: line, chars: line.char_indices().peekable() };
        let mut parser = Parser { tokens: lexer.collect::<Result<_>>()?, position: 0 };
        let mut target = "ans";
        if let [(_, Token::Name(name)), (_, Token::Symbol('=')), ..] = parser.tokens[..] {
            target = name;
            parser.position = 2;
        }
        let tree = parser.expression(0)?;
        if parser.peek().is_some() {
            return Err(parser.unexpected());
        }
        let value = self.eval(&tree)?;
        self.variables.insert(target.to_owned(), value);
        Ok(value)
    }

    fn eval(&self, expr: &Expr<'_>) -> Result<f64> {
        let unknown = |name: &str| CalcError::UnknownName(name.to_owned());
        Ok(match expr {
            Expr::Number(value) => *value,
            Expr::Variable("pi" | "π") => std::f64::consts::PI,
            Expr::Variable(name) => *self.variables.get(*name).ok_or_else(|| unknown(name))?,
            Expr::Negate(inner) => -self.eval(inner)?,
            Expr::Binary { op, left, right } => match (op, self.eval(left)?, self.eval(right)?) {
                ('+', a, b) => a + b,
                ('-', a, b) => a - b,
                ('*', a, b) => a * b,
                ('/', _, 0.0) => return Err(CalcError::DivisionByZero),
                ('/', a, b) => a / b,
                ('^', a, b) => a.powf(b),
                _ => unreachable!("the parser knows no operator {op:?}"),
            },
            // TODO: let users define their own functions
            Expr::Call { name, arg } => match (*name, self.eval(arg)?) {
                ("sqrt", x) => x.sqrt(),
                (name, _) => return Err(unknown(name)),
            },
        })
    }
}

fn main() -> io::Result<()> {
    let mut calculator = Calculator::default();
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        match calculator.run(line?.trim()) {
            Ok(value) => writeln!(stdout, "{RESULT_MARK}{value}")?,
            Err(error) => writeln!(stdout, "error: {error}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_group_to_the_right() {
        let mut calc = Calculator::default();
        assert_eq!(calc.run("2 ^ 3 ^ 2"), Ok(512.0));
        assert_eq!(calc.run("1 +"), Err(CalcError::UnexpectedEnd));
    }
}
