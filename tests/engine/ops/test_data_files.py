"""Files of numbers: whole or in pieces, and where in a file something is wrong."""

import contextlib
import os
import tracemalloc
import warnings

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.core.context import current
from agrad.engine.ops.data_files import load_matrix, load_text

BAD = [
    ("1,2\n3,x\n", 'line 2, column 2: "x" is not a number'),
    ("1,2\n\n\n3,x\n", 'line 4, column 2: "x" is not a number'),
    ("1,2\n\n\n3,4,x\n", "line 4: 3 entries, not 2"),
    ("1,2\n3,\n", "line 2, column 2: the entry is empty"),
    ("a,b\nc,d\n1,2\n", 'line 2, column 1: "c" is not a number'),
    ("1,2\n3\n", "line 2: 1 entry, not 2"),
    ("1,2\n3,4,5\n", "line 2: 3 entries, not 2"),
    (f"1\n{'x' * 50}\n", f'line 2, column 1: "{"x" * 19}…" is not a number'),
    *[("", "{} is empty"), ("\n\n", "{} is empty"), ("a,b\n", "there are no numbers in {}")],
]


def walked(path, rows):
    return [piece.tolist() for piece in ag.chunks(path, rows)]


@each("text, message", BAD)
def test_an_error_names_the_file_the_row_and_the_column(file, text, message):
    path = file(text)
    for name, read in (("load_csv", load_matrix), ("chunks", lambda path: walked(path, 1))):
        caught = refuses(lambda read=read: read(path), kind="file")
        assert caught.message == f"{name}: {message.format(path) if '{}' in message else f'{path}, {message}'}"


@each("rows", [1, 2, 3, 4, 100])
def test_the_pieces_of_a_file_are_its_rows_in_order(file, tmp_path, rows):
    path = file("\ufeffx,y\n1,2\n\n3,4\n5,6\n")
    numbers = ag.load_csv(path)
    np.save(tmp_path / "a.npy", np.asarray(numbers))
    for found in (walked(path, rows), walked(str(tmp_path / "a.npy"), rows)):
        assert [len(piece) for piece in found] == [min(rows, 3 - done) for done in range(0, 3, rows)]
        assert [row for piece in found for row in piece] == numbers.tolist()


def test_a_file_can_be_read_twice_and_left_in_the_middle(file):
    pieces = ag.chunks(file("1\n2\n3\n"), 1)
    assert next(iter(pieces)).tolist() == [[1]]
    assert [piece.tolist() for piece in pieces] == [[[1]], [[2]], [[3]]]


def test_pieces_of_what_numpy_saved(tmp_path):
    np.save(tmp_path / "vector.npy", np.arange(5))
    assert walked(str(tmp_path / "vector.npy"), 2) == [[0, 1], [2, 3], [4]]
    np.save(tmp_path / "cube.npy", np.ones((3, 2, 2), dtype=np.float32))
    assert [piece.shape for piece in ag.chunks(str(tmp_path / "cube.npy"), 2)] == [(2, 2, 2), (1, 2, 2)]
    np.save(tmp_path / "number.npy", 3.0)
    refuses(lambda: walked(str(tmp_path / "number.npy"), 2), "holds one number, not rows")
    (tmp_path / "torn.npy").write_bytes((tmp_path / "cube.npy").read_bytes()[:-5])
    refuses(lambda: walked(str(tmp_path / "torn.npy"), 2), "is not an array saved by numpy")
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    refuses(lambda: walked(str(tmp_path / "objects.npy"), 2), "holds objects of Python's pickle")


SHAPE, LONGER = b"(3, 2), }", "it is longer than its header says"
DAMAGED = {
    "longer": (lambda data: data + b"\0" * 8, LONGER),
    "by a byte in the middle": (lambda data: data[:130] + b"x" + data[130:], LONGER),
    "fewer rows": (lambda data: data.replace(SHAPE, b"(2, 2), }"), LONGER),
    "more rows": (lambda data: data.replace(SHAPE, b"(4, 2), }"), "incomplete"),
    "negative": (lambda data: data.replace(SHAPE, b"(-3,-2),}"), "incomplete"),
    "a strange escape": (lambda data: data.replace(b"'<f8'", b"'\\d8'"), "incomplete"),
    "no list": (lambda data: data.replace(SHAPE, b"(3is 2,),"), "incomplete"),
}


@each("name", DAMAGED)
def test_an_array_is_read_only_where_its_header_says_how_it_is_laid_out(name, tmp_path):
    change, message = DAMAGED[name]
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6.0).reshape(3, 2))
    path.write_bytes(change(path.read_bytes()))
    reads = [ag.load_npy, load_matrix, lambda path: walked(path, 2)]
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        for read in reads:
            refuses(lambda read=read: read(str(path)), message, kind="file")
    assert leaked == []


def test_arrays_of_all_layouts_are_read(tmp_path):
    fields = np.array([(1.0, 2.0)], dtype=[("é", "<f8"), ("b", ">f4")])
    for x in (
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(3, dtype=">i2"),
        np.array(5.0),
        np.zeros((0, 2)),
    ):
        np.save(tmp_path / "x.npy", x)
        np.testing.assert_array_equal(np.asarray(ag.load_npy(str(tmp_path / "x.npy")).data), x)
    np.save(tmp_path / "x.npy", fields)
    assert ag.load_csv(str(tmp_path / "x.npy")).columns == ("é", "b")
    old = tmp_path / "old.npy"  # as Python 2 wrote it
    np.save(old, np.ones((3, 2)))
    old.write_bytes(old.read_bytes().replace(SHAPE, b"(3L,2L),}"))
    assert ag.load_npy(str(old)).shape == (3, 2)


@each("rows, kind", [(0, "domain"), (-1, "domain"), (1.5, "type"), ("2", "type"), (None, "type")])
def test_how_many_rows_there_cannot_be(file, rows, kind):
    refuses(lambda: ag.chunks(file("1\n"), rows), kind=kind)


@pytest.mark.long
@each("saved", [False, True])
def test_a_walk_takes_no_more_memory_than_some_pieces(tmp_path, saved):
    path = tmp_path / ("a.npy" if saved else "a.csv")
    if saved:
        np.save(path, np.ones((200_000, 8)))
    else:
        path.write_text("1.5,2.5,3.5,4.5\n" * 400_000)
    next(iter(ag.chunks(str(path), 1000)))  # loads what reads it
    tracemalloc.start()
    try:
        rows = sum(len(piece) for piece in ag.chunks(str(path), 1000))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == (200_000 if saved else 400_000)
    assert most < 600_000  # of 12.8 MB, and of 6.4 MB of text


def test_a_file_that_is_too_large_is_refused_before_it_is_read_to_its_end(file, monkeypatch):
    monkeypatch.setattr(current().limits, "entries", 100)
    path = file("1,2,3,4\n" * 50)
    refuses(lambda: ag.load_csv(path), kind="limit")
    assert sum(len(piece) for piece in ag.chunks(path, 20)) == 50


@each("name", ["load_csv", "load_npy", "chunks"])
def test_a_folder_is_no_file_of_numbers(tmp_path, name):
    more = (3,) if name == "chunks" else ()
    caught = refuses(lambda: list(getattr(ag, name)(str(tmp_path), *more)))
    why = "cannot be read: it is a folder" if name == "load_npy" else "has no files"
    assert caught.message == f"{name}: {tmp_path} {why}"
    if os.path.exists(os.devnull):
        refuses(lambda: getattr(ag, name)(os.devnull, *more), "cannot be read: it is not a regular file")


@each("path", ["", " "])
def test_a_name_without_a_letter_is_no_file(path):
    assert refuses(lambda: ag.chunks(path, rows=2)).message == "chunks: that is not the name of a file"


CHOSEN = {
    "a": [[1], [2]],
    ("a", "c"): [[1, 3], [2, 4]],
    ("c", "a"): [[3, 1], [4, 2]],
    (0, -1): [[1, 3], [2, 4]],
    ("a", 2): [[1, 3], [2, 4]],
    (0, 0): [[1, 1], [2, 2]],
}


@each("columns", CHOSEN)
def test_some_columns_of_a_file_with_texts(file, columns):
    path = file("a,b,c\n1,x,3\n2,y,4\n")
    assert ag.load_csv(path, columns=columns).tolist() == CHOSEN[columns]
    assert [piece.tolist() for piece in ag.chunks(path, 1, columns=columns)] == [[row] for row in CHOSEN[columns]]


@each("name", ["load_csv", "chunks"])
@each(
    "text, columns",
    [
        ("a,b,c\n1,x,3\n", '("a", "c")'),
        ("a,b\n1,x\n", '"a"'),
        ("a,a,b\n1,2,x\n", "(0, 1)"),
        ('"say ""a""",b\n1,x\n', "0"),
        ("a,b\n1,2\n1,x\n", None),
        ("a,b\nx,y\n", None),
    ],
)
def test_the_columns_of_numbers_are_offered_where_there_are_texts(file, name, text, columns):
    path = file(text)
    rest = ", 3" if name == "chunks" else ""
    caught = refuses(lambda: load_matrix(path) if name == "load_csv" else list(ag.chunks(path, 3)))
    assert caught.fixes == ([f'{name}("{path}"{rest}, columns={columns})'] if columns else [])
    if columns:
        assert ag.load_csv(path, columns=eval(columns)).shape[0] == text.count("\n") - (text[0] != "1")


def test_the_columns_of_numbers_are_offered_for_the_form_that_was_given(file):
    path = file("1;x;3\n2;y;4\n")
    asked = refuses(lambda: list(ag.chunks(path, 3)), "may have the names of the columns, or be data")
    assert asked.fixes == [f'chunks("{path}", 3, header={value})' for value in (1, 0)]
    caught = refuses(lambda: list(ag.chunks(path, 3, delimiter=";", header=0)), '"x" is not a number')
    (fix,) = caught.fixes
    assert fix == f'chunks("{path}", 3, columns=(0, 2), delimiter=";", header=0)'
    assert [piece.tolist() for piece in eval(fix, {"chunks": ag.chunks})] == [[[1, 3], [2, 4]]]


def test_columns_that_are_not_there(file):
    path = file("a,b\n1,2\n")
    for columns, kind in (("z", "name"), (2, "name"), (-3, "name"), ((), "arity"), (0.5, "type"), (None, None)):
        if kind is None:
            assert ag.load_csv(path, columns=columns).tolist() == [[1, 2]]
            continue
        with pytest.raises(ag.AgradError) as caught:
            ag.load_csv(path, columns=columns)
        assert caught.value.kind == kind


@each(
    "text, shape",
    [
        ("1,2\n3,4\n", (2, 2)),
        ("\ufeff1,2\r\n", (2,)),
        ("1\n2\n", (2,)),
        ("# a\n\n1,2 # b\n", (2,)),
        ("", (0,)),
        ("# a", (0,)),
    ],
)
def test_a_text_file_is_read_as_numpy_reads_it(file, text, shape):
    found = load_text(file(text), ",", 0)
    assert found.shape == shape
    assert found.tolist() == np.arange(1.0, found.size + 1).reshape(shape).tolist()


@each(
    "text, message",
    [
        ("1,x\n", "could not convert string 'x' to float64 at row 0, column 2"),
        ("1_0,2\n", "could not convert string '1_0' to float64 at row 0, column 1"),
        ("1,2\n3\n", "the number of columns changed from 2 to 1 at row 2"),
    ],
)
def test_what_numpy_refuses_in_a_text_file(file, text, message):
    path = file(text)
    caught = refuses(lambda: load_text(path, ",", 0))
    assert (caught.kind, caught.message) == ("file", f"np.loadtxt: {path}: {message}")


def test_a_text_file_in_another_encoding(tmp_path):
    (tmp_path / "a").write_bytes(b"1,2\n\xff")
    refuses(lambda: load_text(str(tmp_path / "a"), ",", 0), "is not UTF-8 text")
    for delimiter, skipped in ((3, 0), ("", 0), (",", -1)):
        (tmp_path / "a").write_text("1,2\n")
        with contextlib.suppress(ag.AgradError):
            load_text(str(tmp_path / "a"), delimiter, skipped)
