"""Writes what `protocol-spec/` has from the code: `python tests/write_spec.py`."""

from spec import asyncapi, pictures, scenes, schema, typescript, visible_texts
from spec_tables import PAGES, rendered

if __name__ == "__main__":
    schema.write()
    typescript.write()
    asyncapi.write()
    scenes.write()
    pictures.write()
    visible_texts.write()
    for page in PAGES:
        page.write_text(rendered(page.read_text()))
