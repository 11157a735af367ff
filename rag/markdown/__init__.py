"""CommonMark with exact offsets: what corpus and chunkers both read. No I/O.

`blocks` finds the blocks, `comments` the parts that are never shown, `sections` what the headings make of a document.
"""

from rag.markdown.blocks import FrontMatter, front_matter, leaves, parse, plain_blocks
from rag.markdown.comments import Comments, comments
from rag.markdown.sections import Section, first_title, sections, slug

__all__ = [
    "Comments",
    "FrontMatter",
    "Section",
    "comments",
    "first_title",
    "front_matter",
    "leaves",
    "parse",
    "plain_blocks",
    "sections",
    "slug",
]
