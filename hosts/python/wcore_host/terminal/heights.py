"""Which rows belong to which block. Pure; all counts are rows, all positions indexes."""

from bisect import bisect_right


class Heights:
    """The heights of blocks one under another, each with the width it was measured for."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._widths: list[int] = []
        self._starts: list[int] = [0]  # first row of each block, and the end
        self._valid = 0  # starts up to here are right

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """How many rows there are."""
        self._count()
        return self._starts[-1]

    def add(self, height: int, width: int) -> None:
        """Add a block at the end."""
        self._heights.append(height)
        self._widths.append(width)

    def set(self, index: int, height: int, width: int) -> None:
        """Say how high a block is now."""
        if self._heights[index] != height:
            self._heights[index] = height
            self._valid = min(self._valid, index)
        self._widths[index] = width

    def drop(self, count: int) -> int:
        """Forget the first blocks; return how many rows they had."""
        rows = self.start(min(count, len(self)))
        del self._heights[:count]
        del self._widths[:count]
        self._valid = 0
        return rows

    def start(self, index: int) -> int:
        """Return the first row of a block, or the end of all for the index after the last."""
        self._count()
        return self._starts[index]

    def at(self, row: int) -> int:
        """Return the block that a row belongs to."""
        self._count()
        return max(0, min(bisect_right(self._starts, row) - 1, len(self) - 1))

    def stale(self, width: int) -> list[int]:
        """Return the blocks that were measured for another width."""
        return [index for index, measured in enumerate(self._widths) if measured != width]

    def _count(self) -> None:
        if self._valid == len(self._heights) == len(self._starts) - 1:
            return
        del self._starts[self._valid + 1 :]
        row = self._starts[-1]
        for height in self._heights[self._valid :]:
            row += height
            self._starts.append(row)
        self._valid = len(self._heights)
