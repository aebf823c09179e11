"""Tables of the docs, for tests that hold their rows."""


def rows(text, heading):
    """The cells of the first table below that heading, without its head."""
    lines = text.split(heading)[1].splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("|")) + 2
    for line in lines[first:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]
