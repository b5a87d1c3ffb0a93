"""The colours of nodes: told apart by everybody, read on their boxes, and each with a sign of its own."""

from itertools import combinations

import numpy as np
from rows import each

from agrad.engine.inspect.colours import LOOKS

PAPERS = {"light": ("line", "fill", "#ffffff"), "dark": ("dark_line", "dark_fill", "#1a2029")}
# Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009): what who lacks a kind of cone sees, by linear red, green, blue.
SEEN = {
    "all": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    part = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB, in white light of D65."""
    xyz = _XYZ @ np.clip(rgb, 0, 1) / _XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    """The ratio of the Web Content Accessibility Guidelines."""
    high, low = sorted((float(_XYZ[1] @ linear(x)) for x in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@each("paper", PAPERS)
def test_a_sign_is_read_on_the_fill_of_every_box_and_on_the_paper(paper):
    line, fill, page = PAPERS[paper]
    for look in LOOKS.values():
        for below in (page, *(getattr(other, fill) for other in LOOKS.values())):
            assert contrast(getattr(look, line), below) >= 4.5, (look, below)


@each("paper, sight", [(paper, sight) for paper in PAPERS for sight in SEEN])
def test_colours_differ_for_every_sight(paper, sight):
    seen = {name: lab(np.asarray(SEEN[sight]) @ linear(getattr(x, PAPERS[paper][0]))) for name, x in LOOKS.items()}
    found = {(a, b): round(float(np.linalg.norm(seen[a] - seen[b])), 1) for a, b in combinations(LOOKS, 2)}
    assert min(found.values()) >= 10, {pair: far for pair, far in found.items() if far < 10}


def test_no_two_share_a_sign_or_words():
    assert len({look.sign for look in LOOKS.values()}) == len({look.said for look in LOOKS.values()}) == len(LOOKS)
