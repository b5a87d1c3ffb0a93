"""How much code the uncertain values, budgets, fits and solvers take: `python tests/support/size.py` lists it."""

from size import code_lines, sums

MOST, MOST_NAMED = 1942, 107


def test_uncertain_values_and_solvers_take_no_more_code_than_they_did():
    own, named = sums()
    assert own <= MOST
    assert named <= MOST_NAMED


def test_neither_comments_nor_docstrings_nor_blank_lines_are_code():
    assert code_lines(
        '"""Doc."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    """Doc,\n    more."""\n    return x\n'
    ) == {4, 5, 6, 9, 12}
