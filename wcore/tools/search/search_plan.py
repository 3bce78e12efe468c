"""What LS, Glob and Grep share: a folder is searched, and nothing is changed."""

from msgspec import Struct, field

from wcore.tools.arguments import Arguments
from wcore.tools.digests import call_digest
from wcore.tools.tool import Place
from wcore.vocabulary import Access, Args, Category, Prepared, Touch


class Search(Struct, frozen=True):
    """The plan of a search: the real root, and the checked arguments."""

    root: str
    given: Arguments = field(default_factory=Arguments)
    pattern: str = ""


def searching(place: Place, tool: str, args: Args, description: str, plan: Search) -> Prepared:
    """Return the prepared call: it touches the root it searches."""
    touches = (Touch(plan.root, Access.READ),)
    return Prepared(
        tool=tool,
        category=Category.INFO,
        args=args,
        description=description,
        digest=call_digest(tool, args, place.workspace, touches),
        touches=touches,
        plan=plan,
    )
