"""Tables as aligned text or Markdown.

Written here because tabulate makes every column two characters wider than its header.
"""

from collections.abc import Sequence


def aligned(
    table: Sequence[Sequence[str]],
    *,
    markdown: bool = False,
    left: Sequence[int] = (0,),
) -> list[str]:
    """The lines of a table: header, rule, body; the columns `left` to the left.

    Other columns, of numbers, are aligned to the right; -1 is the last.
    """
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lefts = {number % len(widths) for number in left}

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if number in lefts else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |" if markdown else "  ".join(padded).rstrip()

    rule = ["-" * width for width in widths]
    if markdown:
        rule = [
            dashes if number in lefts else dashes[:-1] + ":"
            for number, dashes in enumerate(rule)
        ]
    return [line(table[0]), line(rule), *(line(cells) for cells in table[1:])]
