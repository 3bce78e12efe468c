"""All example conversations, in the order in which they are registered."""

from spec import transcripts, transcripts_of_many
from spec.staging import FOLDER, SCENES, record, write

__all__ = ["FOLDER", "SCENES", "record", "transcripts", "transcripts_of_many", "write"]
