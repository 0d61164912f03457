"""Reads a printed report: how many pages it has, and that each says what it is of. usage: print_check.py PDF NAME MOST [PICTURES]"""

import sys

import pypdfium2


def main(path, name, most, pictures=None):
    document = pypdfium2.PdfDocument(path)
    count = len(document)
    assert count <= int(most), f"{count} pages, and at most {most} are meant to be"
    for number, page in enumerate(document, 1):
        text = page.get_textpage().get_text_range()
        assert name in text, f"page {number} does not say {name!r}: {text[:80]!r}"
        assert f"page {number} of {count}" in text, f"page {number} has no number: {text[:80]!r}"
        if pictures:
            page.render(scale=1.2).to_pil().save(f"{pictures}-page-{number}.png")
    print(f"{count} printed pages, each with the run's name and its number")


main(*sys.argv[1:])
