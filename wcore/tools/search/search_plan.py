"""What LS, Glob and Grep share: a folder is searched, and nothing is changed."""

from msgspec import Struct, field

from wcore.tools.arguments import Arguments
from wcore.tools.digests import call_digest
from wcore.tools.tool import ToolEnvironment
from wcore.vocabulary import Access, Args, Category, PathAccess, Prepared


class SearchPlan(Struct, frozen=True):
    """The plan of a search: the real root, and the checked arguments."""

    root: str
    given: Arguments = field(default_factory=Arguments)
    pattern: str = ""


def prepare_search(
    environment: ToolEnvironment, tool: str, args: Args, description: str, plan: SearchPlan
) -> Prepared:
    """Return the prepared call: it touches the root it searches."""
    accesses = (PathAccess(plan.root, Access.READ),)
    return Prepared(
        tool=tool,
        category=Category.INFO,
        args=args,
        description=description,
        digest=call_digest(tool, args, environment.workspace, accesses),
        accesses=accesses,
        plan=plan,
    )
