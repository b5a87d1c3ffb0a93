"""`info`: all about one value. `vars`: a line a name, in 80 columns."""

from pathlib import Path

from answers import answers
from rows import each
from sessions import session_of

from agrad.grammar.commands.info import describe, list_graphs, list_names


def info(name, text):
    session = session_of(text)
    return describe(name, session.names[name], session)


def facts(name, text):
    """The lines of `info` by their first word."""
    lines = info(name, text).split("\n")
    start = len(lines[0]) - len(lines[0].split("  ", 1)[1].lstrip())
    return {line[:start].strip(): line[start:] for line in lines}


def test_a_value_that_no_name_keeps():
    session = session_of("var a = 2")
    value = session.evaluate("a*3")
    assert describe("a*3", value, session).endswith("kept by  no name")


def test_a_large_value_is_cut():
    lines = info("m", "m = ones(100, 100)").split("\n")
    assert max(map(len, lines)) <= 80
    assert lines[1] == "shape    (100, 100), 10000 entries"
    assert lines[-2] == "memory   80 kB, its own"


# vars


def test_vars_fits_80_columns():
    long = "a_name_that_goes_on_and_on_for_some_time"
    text = f"var {long} = arange(200)\n{long}2 = log_softmax({long}*1.1)\nvar b = randn(40, 30)\nbackward sum(b**2)\ns = softplus(b)/3"
    lines = list_names(session_of(text)).split("\n")
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines] == ["a_name_that_goe…", "a_name_that_goe…", "b", "s"]
    assert lines[2].endswith("grad (40, 30)")


def test_vars_never_cuts_a_number():
    session = session_of(
        "loss = 1.381491223e126; w = [1.1753685e100, 2.5]; k = 2/3; s = -1.23456789e-30; n = [[1, 2], [3, 4]]"
    )
    session.settings.width = 26
    assert list_names(session).split("\n") == [
        "loss  number  1.381491e126",
        "w     value   […",
        "k     number  0.6666666667",
        "s     number  -1.23457e-30",
        "n     value   [[1, 2], …",
    ]


def test_where_there_is_little_room_vars_leaves_out_gradients_and_graphs_has_two_lines():
    session = session_of("var x = [1, 2, 3]; y = exp(x); z = sum(y); backward z retain")
    session.settings.width = 40
    names, graphs = list_names(session), list_graphs(session)
    assert "grad" not in names
    assert "bytes" not in names
    assert "[1, 2, 3]" in names
    assert max(map(len, [*names.split("\n"), *graphs.split("\n")])) <= 40
    assert graphs.split("\n")[1].startswith("  kept by y and z")


GRAPHS = answers(Path(__file__).with_name("graphs_to_count.txt"))


@each("text", GRAPHS)
def test_info_counts_the_nodes_that_graph_lists(text):
    lines, session = [], session_of(text)
    session.run("graph y", lines.append)
    listing = str(lines[0].text(session.settings))
    counted = facts("y", text)["graph"].split(":")[0]
    heading, *rows = listing.split("\n")
    assert f"{counted.split(',')[0]}," in heading
    assert len([row for row in rows if row.lstrip().startswith("%")]) == int(counted.split()[0])
    for internal in ("Clone", "Depends", "Own", "Stop"):
        assert internal not in listing + info("y", text)
