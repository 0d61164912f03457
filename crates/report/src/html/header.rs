//! The page header: which run this is, and the menu.

use super::{escape, words};
use crate::Document;
use crate::figures::FigureUnit;

/// The run's name and description, and links to the sections: `(id, name)` of each.
pub fn header(document: &Document, sections: &[(&str, &str)]) -> String {
    let run = &document.run;
    let kernel =
        run.environment.facts.get("kernel").map(|kernel| format!(" · Linux {kernel}")).unwrap_or_default();
    let took = run
        .finished
        .map(|end| {
            format!(
                " · took {}",
                FigureUnit::Seconds.text(end.duration_since(run.started).as_secs_f64().round())
            )
        })
        .unwrap_or_default();
    let options: String = document
        .cells
        .iter()
        .enumerate()
        .map(|(position, view)| {
            let name = document.planned(view.record.index).map_or("", |cell| &cell.name);
            format!("<option value=\"{position}\">{} {}</option>", view.record.index + 1, escape(name))
        })
        .collect();
    let menu: String = sections.iter().map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>")).collect();
    format!(
        "<header class=\"top\"><p class=\"eyebrow\">manometer · run {}</p><h1>{}</h1>\
         <p class=\"meta\"><time datetime=\"{started}\">{}</time>{took} · {} · manometer {}{}</p>{}</header>\
         <nav aria-label=\"Sections\">{menu}<span class=\"picker\" hidden><button type=\"button\" id=\"previous\" aria-label=\"Previous cell\">‹</button>\
         <select id=\"pick\" aria-label=\"Cells shown\"><option value=\"all\">all cells</option>{options}</select>\
         <button type=\"button\" id=\"next\" aria-label=\"Next cell\">›</button>\
         <button type=\"button\" id=\"fold\">unfold all</button></span></nav>",
        escape(&run.id),
        escape(&run.name),
        run.started.strftime("%Y-%m-%d %H:%M:%S UTC"),
        words::state(run.state),
        escape(&run.version),
        escape(&kernel),
        run.plan
            .description
            .as_ref()
            .map(|text| format!("<p class=\"lead\">{}</p>", escape(text)))
            .unwrap_or_default(),
        started = run.started,
    )
}
