//! The reference tables of docs/experiment-reference.md are generated from the tables that the reader uses.
#![allow(clippy::unwrap_used)] // a test may fail loudly

const BEGIN: &str = "<!-- reference begin -->\n";
const END: &str = "<!-- reference end -->\n";

#[test]
fn the_documentation_has_the_tables_of_the_reader() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiment-reference.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let from = text.find(BEGIN).expect("the reference's beginning") + BEGIN.len();
    let to = text.find(END).expect("the reference's end");
    let made = experiment::reference(targets::kinds());
    if std::env::var_os("MANOMETER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{made}{}", &text[..from], &text[to..])).unwrap();
    } else {
        assert_eq!(&text[from..to], made, "run with MANOMETER_UPDATE_DOCS=1 to write the tables anew");
    }
}
