# SPDX-License-Identifier: BSD-3-Clause
"""The one style of pictures: SVG on a light panel of its own, which reads on light and on dark pages; curves are named at
their ends, or beside, outside of where data is."""

import itertools
import math
from xml.sax.saxutils import escape

COLOURS = ("#0b62a4", "#d9480f", "#15803d", "#9333ea", "#334155", "#0891b2", "#db2777", "#a16207")
INK, FAINT, GRID = "#1f2937", "#6b7280", "#e5e7eb"
FONT = 12
CHARACTER = 6.4  # mean width of one


class Canvas:
    def __init__(self, width, height, title):
        self.width, self.height, self.parts = width, height, []
        self.text(20, 28, title, size=14, weight="bold")

    def add(self, tag, content=None, **attributes):
        words = " ".join(f'{name.rstrip("_").replace("_", "-")}="{value:.1f}"' if isinstance(value, float) else
                         f'{name.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for name, value in attributes.items())
        self.parts.append(f"<{tag} {words}/>" if content is None else f"<{tag} {words}>{escape(content)}</{tag}>")

    def text(self, x, y, content, size=FONT, fill=INK, anchor="start", **more):
        more = {"font_weight" if name == "weight" else name: value for name, value in more.items()}
        self.add("text", content, x=float(x), y=float(y), font_size=size, fill=fill, text_anchor=anchor, **more)

    def line(self, points, colour, width=1.0, dash=None, **more):
        more |= {"stroke_dasharray": dash} if dash else {}
        self.add("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), fill="none", stroke=colour,
                 stroke_width=width, stroke_linejoin="round", **more)

    def svg(self):
        w, h = math.ceil(self.width), math.ceil(self.height)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
                'font-family="Helvetica, Arial, sans-serif">\n'
                f'<rect x="0.5" y="0.5" width="{w - 1}" height="{h - 1}" rx="10" fill="#ffffff" stroke="#d1d5db"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


class Axis:
    """From values to places; `ticks` are (value, text)."""

    def __init__(self, values, begin, end, base=0, zero=False, tight=False):
        """`base`: of a logarithmic axis, which ends where the values do if `tight`; 0: a linear one, from 0 where `zero`."""
        self.base, self.begin, self.end = base, begin, end
        low, high = min(values), max(values)
        if base:
            powers = range(math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9) + 1)
            ticks = [base ** k for k in powers[::max(1, len(powers) // 8)]]
            if tight:
                ticks = [tick for tick in ticks if 0.999 * low <= tick <= 1.001 * high] or [low, high]
            low, high = min(low, ticks[0]), max(high, ticks[-1])
        else:
            low = 0 if zero else low
            step = 10 ** math.floor(math.log10((high - low or 1) / 4))
            step = next(step * k for k in (1, 2, 2.5, 5, 10) if (high - low) / (step * k) <= 6)
            ticks = [step * k for k in range(math.floor(low / step), math.ceil(high / step - 1e-9) + 1)]
            low, high = ticks[0], ticks[-1]
        self.low, self.high = self.scale(low), self.scale(high)
        self.ticks = [(value, self.name(value)) for value in ticks]

    def scale(self, value):
        return math.log(value) if self.base else value

    def name(self, value):
        exponent = math.log10(value) if value > 0 else 0
        if self.base == 10 and abs(exponent) > 2:
            return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] if c.isdigit() else "⁻" for c in str(round(exponent)))
        return f"{value:g}"

    def place(self, value):
        return self.begin + (self.end - self.begin) * (self.scale(value) - self.low) / (self.high - self.low or 1)


def frame(canvas, x, y, labels):
    """Grid, ticks and names of a pair of axes; the y axis' name stands above it."""
    for value, name in y.ticks:
        canvas.line([(x.begin, y.place(value)), (x.end, y.place(value))], GRID)
        canvas.text(x.begin - 8, y.place(value) + 4, name, fill=FAINT, anchor="end")
    for value, name in x.ticks:
        canvas.line([(x.place(value), y.begin), (x.place(value), y.begin + 4)], FAINT)
        canvas.text(x.place(value), y.begin + 18, name, fill=FAINT, anchor="middle")
    canvas.line([(x.begin, y.begin), (x.end, y.begin)], FAINT)
    canvas.text((x.begin + x.end) / 2, y.begin + 38, labels[0], anchor="middle")
    canvas.text(20, y.end - 16, labels[1])


def apart(places, least, low, high):
    """The places, moved until neighbours are at least so far from each other."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    found = list(places)
    for before, k in itertools.pairwise(order):
        found[k] = max(found[k], found[before] + least)
    over = found[order[-1]] - high
    if over > 0:
        found[order[-1]] = high
        for after, k in zip(order[::-1], order[-2::-1]):
            found[k] = min(found[k], found[after] - least)
    return found


def curves(title, labels, named, bases=(0, 0), beside=(), width=780, height=430):
    """`named`: name to (points, colour, dash); `labels`: of x and y, with units; `bases` of logarithmic axes; `beside`: points
    and colours of faint curves without a name."""
    canvas = Canvas(width, height, title)
    points = [point for some, *_ in (*named.values(), *beside) for point in some]
    right = width - 36 - CHARACTER * max(map(len, named))
    x = Axis([p[0] for p in points], 64, right, bases[0], tight=True)
    y = Axis([p[1] for p in points], height - 62, 74, bases[1], zero=True)
    frame(canvas, x, y, labels)
    for some, colour in beside:
        canvas.line([(x.place(a), y.place(b)) for a, b in some], colour, 1.0, opacity="0.5")
    for some, colour, dash in named.values():
        places = [(x.place(a), y.place(b)) for a, b in some]
        canvas.line(places, colour, 2.0, dash)
        for a, b in places if dash != IDEAL else []:
            canvas.add("circle", cx=a, cy=b, r=2.5, fill=colour)
    ends = [y.place(some[-1][1]) for some, *_ in named.values()]
    together = len({some[-1][0] for some, *_ in named.values()}) == 1
    places = apart(ends, FONT + 3, 74, y.begin) if together else [78 + 18 * k for k in range(len(ends))]
    for (name, (_, colour, dash)), end, at in zip(named.items(), ends, places):
        if together:
            canvas.line([(right + 5, end), (right + 8, end), (right + 20, at)], colour, 1.0, opacity="0.5")
        else:  # leaders would cross other curves
            canvas.line([(right + 4, at), (right + 20, at)], colour, 2.0, dash)
        canvas.text(right + 24, at + 4, name, fill=colour)
    return canvas.svg()


def panels(title, labels, rows, colours, bases=(2, 0), width=252, height=186, stacked=False):
    """Small pictures with the same axes: `rows` of (name, curves), curves of name to points; `colours`: of the names. `stacked`:
    what is between a curve and the one before is filled."""
    canvas = Canvas(30 + width * max(map(len, rows)), 96 + height * len(rows), title)
    places = [point for row in rows for _, named in row for some in named.values() for point in some]
    x, low = 20.0, 50.0
    for name, colour in colours.items():
        canvas.line([(x, low), (x + 18, low)], colour, 10 if stacked else 2.5)
        canvas.text(x + 24, low + 4, name, fill=colour)
        x += 48 + CHARACTER * len(name)
    for r, row in enumerate(rows):
        for c, (name, named) in enumerate(row):
            left, top = 62 + width * c, 96 + height * r
            across = Axis([p[0] for p in places], left, left + width - 66, bases[0], tight=True)
            across.ticks = across.ticks[::2] if len(across.ticks) > 7 else across.ticks
            up = Axis([p[1] for p in places], top + height - 62, top, bases[1])
            frame(canvas, across, up, (labels[0] if r == len(rows) - 1 else "", ""))
            canvas.text(left, top - 8, name, size=11)
            below = []
            for method, some in named.items():
                line = [(across.place(a), up.place(b)) for a, b in some]
                if stacked:
                    around = [*line, *reversed(below or [(a, up.begin) for a, _ in line])]
                    canvas.add("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in around), fill=colours[method])
                    below = line
                else:
                    canvas.line(line, colours[method], 1.8)
    canvas.text(canvas.width - 20, 28, labels[1], fill=FAINT, anchor="end")
    return canvas.svg()


def best_of(title, labels, xs, ys, cells, colours, size=46):
    """What is best where: `cells` of (x, y) to a name of `colours`; what is not there stays empty."""
    left, top = 108, 80
    canvas = Canvas(max(left + size * len(xs) + 20, 640), top + 26 * len(ys) + 60, title)
    x = 20.0
    for name, colour in colours.items():
        canvas.add("rect", x=x, y=44.0, width=12, height=12, rx=2, fill=colour)
        canvas.text(x + 18, 54, name)
        x += 36 + CHARACTER * len(name)
    for r, b in enumerate(reversed(ys)):
        canvas.text(left - 8, top + 26 * r + 17, f"{b:.3g}" if b >= 1000 else f"{b:g}", fill=FAINT, anchor="end")
        for c, a in enumerate(xs):
            if (a, b) in cells:
                canvas.add("rect", x=float(left + size * c), y=float(top + 26 * r), width=size - 1, height=25,
                           fill=colours[cells[a, b]])
    for c, a in enumerate(xs):
        canvas.text(left + size * c + size / 2, top + 26 * len(ys) + 16, f"{a:g}", fill=FAINT, anchor="middle")
    canvas.text(left + size * len(xs) / 2, top + 26 * len(ys) + 38, labels[0], anchor="middle")
    canvas.text(20, top - 8, labels[1], size=11)
    return canvas.svg()


IDEAL = "2 5"  # dashes of a line that nobody measured
SECOND = "7 4"


LANES = {"apply": "#3b6fb6", "precondition": "#8b5fbf", "vectors": "#4aa39a", "dots": "#94a3b8", "halo": "#d9a514", "reductions": "#d1495b",
         "reduction": "#e58b3a"}


def timeline(title, unit, span, tracks, names):
    """`tracks`: name to lanes of (kind, begin, end); `names`: of the kinds, below."""
    canvas = Canvas(900, 0, title)
    y, left, width = 48, 84, 790
    for name, lanes in tracks.items():
        canvas.text(20, y + 14, name, weight="bold")
        for lane in lanes:
            for kind, begin, end in sorted(lane, key=lambda block: block[1] - block[2]):  # what is within another above it
                canvas.add("rect", x=left + width * begin / span, y=float(y), width=width * (end - begin) / span, height=18,
                           fill=LANES.get(kind, "#9ca3af"), stroke="#ffffff", stroke_width=0.7)
            y += 21
        y += 12
    for tick in range(0, span + 1, span // 6):
        canvas.text(left + width * tick / span, y + 6, str(tick), fill=FAINT, anchor="middle")
    canvas.text(left + width / 2, y + 24, unit, anchor="middle")
    x = left
    for kind, name in names.items():
        canvas.add("rect", x=float(x), y=y + 38.0, width=12, height=12, rx=2, fill=LANES[kind])
        canvas.text(x + 18, y + 48, name)
        x += 40 + 7 * len(name)
    canvas.height = y + 66
    return canvas.svg()
