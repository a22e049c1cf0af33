//! The forms of the card: sections with their places in the page, figures with a sentence above.

use crate::cli::page::html::{COLOURS, escape, wide};

/// A part of the page.
pub(super) struct Section {
    /// Its name in addresses within the page.
    id: &'static str,
    title: &'static str,
    /// HTML.
    inner: String,
}

impl Section {
    pub(super) fn new(id: &'static str, title: &'static str, inner: String) -> Self {
        Self { id, title, inner }
    }

    pub(super) fn html(&self) -> String {
        let Self { id, title, inner } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"h-{id}\">\n<h2 id=\"h-{id}\">{title}</h2>\n{inner}</section>\n"
        )
    }
}

/// The way to each section.
pub(super) fn contents(sections: &[Section]) -> String {
    let items = sections
        .iter()
        .map(|Section { id, title, .. }| format!("<li><a href=\"#{id}\">{title}</a></li>"));
    format!("<nav aria-label=\"Contents\"><ul>{}</ul></nav>\n", items.collect::<String>())
}

/// What a picture shows, the picture, and its numbers, which open on demand. All of it is HTML.
pub(super) fn figure(says: &str, picture: &str, numbers: &str) -> String {
    format!(
        "<figure>\n<figcaption>{says}</figcaption>\n{picture}{}</figure>\n",
        folded("The numbers", numbers)
    )
}

/// What opens on demand; nothing where there is nothing.
pub(super) fn folded(title: &str, inner: &str) -> String {
    match inner {
        "" => String::new(),
        inner => format!("<details><summary>{}</summary>\n{inner}</details>\n", escape(title)),
    }
}

pub(super) fn says(sentence: &str) -> String {
    format!("<p class=\"says\">{sentence}</p>\n")
}

pub(super) fn note(sentence: &str) -> String {
    format!("<p class=\"note\">{sentence}</p>\n")
}

/// Bars of parts that make a whole: of each row a name, its parts in the order of their names, and what is written
/// behind.
pub(super) fn parted(names: &[&str], rows: &[(String, Vec<f64>, String)]) -> String {
    let keys = names
        .iter()
        .enumerate()
        .map(|(at, name)| format!("<li><i class=\"f{}\"></i>{name}</li>", at % COLOURS));
    let mut out =
        format!("<ul class=\"key\">{}</ul>\n<div class=\"bars\">\n", keys.collect::<String>());
    for (name, parts, behind) in rows {
        let parts = parts.iter().enumerate().filter(|(_, part)| **part > 0.0).map(|(at, part)| {
            format!("<b class=\"f{}\" style=\"width:{:.2}%\"></b>", at % COLOURS, 76.0 * part)
        });
        let parts: String = parts.collect();
        out += &format!(
            "<span>{}</span><div><div class=\"bar parted\">{parts}<span>{}</span></div></div>\n",
            escape(name),
            escape(behind)
        );
    }
    out + "</div>\n"
}

/// A table of numbers whose cells are the darker, the larger their share (0 to 1) is. All text is HTML.
pub(super) fn heat(corner: &str, head: &[String], rows: &[(String, Vec<(f64, String)>)]) -> String {
    let heads: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let mut body = String::new();
    for (name, cells) in rows {
        let cells = cells.iter().map(|(share, text)| {
            format!("<td style=\"--heat:{:.0}%\">{text}</td>", 60.0 * share.clamp(0.0, 1.0).sqrt())
        });
        body += &format!("<tr><th scope=\"row\">{name}</th>{}</tr>\n", cells.collect::<String>());
    }
    let corner = match corner {
        "" => "<td></td>".to_owned(),
        corner => format!("<th scope=\"col\">{corner}</th>"),
    };
    wide(&format!(
        "<table class=\"heat\">\n<thead><tr>{corner}{heads}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    ))
}
