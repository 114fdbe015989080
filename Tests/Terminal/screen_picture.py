"""A terminal's screen as a picture: SVG that is text, so that a change of words is a change that one can read."""

import html
import re

# What a dark terminal shows for the colours that the command uses.
COLOURS = {
    "default": "#d4d4d4",
    "black": "#5c6370",
    "red": "#f07178",
    "green": "#a6cf70",
    "brown": "#e6c07b",
    "blue": "#6cb0f0",
    "magenta": "#c792ea",
    "cyan": "#6fd3d8",
    "white": "#f5f5f5",
}
BACKGROUND = "#16191d"
CELL, LINE, MARGIN = 8.4, 18, 12


def runs(row, columns):
    """Neighbouring cells that look the same: their column, their text and their look."""
    found = []
    for column in range(columns):
        cell = row[column]
        # The second cell of a wide character is empty.
        look = (cell.fg, cell.bold, cell.reverse)
        if found and found[-1][2] == look:
            found[-1][1].append(cell.data)
        else:
            found.append((column, [cell.data], look))
    return [(column, "".join(texts), look) for column, texts, look in found]


def picture(screen, lines, title):
    """The first `lines` lines of a pyte screen."""
    width, height = screen.columns * CELL + 2 * MARGIN, lines * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
    ]
    for line in range(lines):
        base = MARGIN + line * LINE + 14
        for column, text, (colour, is_bold, is_reversed) in runs(screen.buffer[line], screen.columns):
            x, length = MARGIN + column * CELL, len(text) * CELL
            foreground = COLOURS.get(colour, COLOURS["default"])
            if is_reversed:
                parts.append(f'<rect x="{x:g}" y="{base - 14:g}" width="{length:g}" height="{LINE}" fill="{foreground}"/>')
                foreground = BACKGROUND
            weight = ' font-weight="bold"' if is_bold else ""
            # Viewers treat several spaces as one, so what they part has places of its own. Any font has the widths of this
            # one, so that columns stand below each other.
            for part in re.finditer(r"\S+(?: \S+)*", text):
                parts.append(
                    f'<text x="{x + part.start() * CELL:g}" y="{base:g}" textLength="{len(part[0]) * CELL:g}"'
                    f' lengthAdjust="spacingAndGlyphs" fill="{foreground}"{weight}>{html.escape(part[0], quote=False)}</text>'
                )
    return "\n".join([*parts, "</g>", "</svg>", ""])
