"""The text of a graph."""

import agrad.engine as ag
from agrad.engine.dump import dump


def test_a_graph_from_python_names_operands_by_number():
    a = ag.tensor(3, requires_grad=True)
    y = a * a + ag.exp(a)
    assert dump(y, "y").text().split("\n") == [
        "graph of y: 4 nodes, 1 leaf, held",
        "  %1               leaf  ()  = 3   requires grad   grad none",
        "  %2  Mul(%1, %1)  Mul   ()  = 9   saves %1 %1",
        "  %3  Exp(%1)      Exp   ()  = 20.08553692   saves %3",
        "  %4  Add(%2, %3)  Add   ()  = 29.08553692",
    ]


def test_a_shared_part_is_listed_once_and_numbers_start_at_one():
    a = ag.tensor([1, 2], requires_grad=True)
    b = a * 2
    text = dump((b + b).sum(), "s").text()
    assert text.count("Mul(") == 1
    assert "Add(%2, %2)" in text


def test_freed_and_partly_freed():
    a = ag.tensor([1, 2], requires_grad=True)
    b = a * a
    d, e = b.sum(), (b * 2).sum()
    d.backward()
    assert dump(d).state == "freed"
    assert dump(e).state == "partly freed"
    assert "grad [2, 4]" in dump(d).text()


def test_an_array_constant_is_a_line_with_its_name():
    a, k = ag.tensor([1, 2], requires_grad=True), ag.tensor([3, 4])
    k.name = "k"
    y = a * k
    assert "k            constant  (2)" in dump(y, "y").text()
    y.sum().backward()
    assert "k            constant  (2)" in dump(y, "y").text()
