"""What the commands on files are made of, each piece alone: progress, tallies, parts, a cluster, values from files."""

import json
import os
import signal
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from rows import each

from agrad.cli.data import cluster, parts
from agrad.cli.data.at_file import from_file
from agrad.cli.data.job import LARGE, Job, Reading, Tally, read
from agrad.cli.data.parts_run import Parts
from agrad.cli.data.request import _chosen, advised
from agrad.engine.compile.registry import AUTO, NATIVE
from agrad.engine.errors import AgradError, BadEntry, Hint, Note, OtherForm

# Progress


TOLD = [(50, 200, "25% of d.csv, 7 rows: 10 s, about 30 s left"), (0, 200, "0% of d.csv, 7 rows: 10 s")]
TOLD += [(300, 200, "100% of d.csv, 7 rows: 10 s, about 0 s left"), (50, None, "d.csv, 7 rows: 10 s")]


@each("done, total, told", TOLD)
def test_the_progress_says_how_much_is_read_and_how_long_the_rest_takes(done, total, told):
    shown = []
    line = Reading(shown.append, 79, Mock(side_effect=[100.0, 101.0, 110.0, 110.05]))
    for at in (0, 1, done, done + 1):  # nothing at the start, nor again at once
        line.at("d.csv", at, total, 7)
    assert shown == [f"\r{told}"]


@each("name, where", [("p.csv", ""), ("on 2 workers", " on 2 workers")])
def test_the_progress_of_parts_counts_those_that_are_done(name, where):
    shown, done = [], {"b.csv": (None, Tally(rows=5)), "a.csv": (None, Tally(rows=1))}
    every = [parts.Part("", None, size, f"{name}.csv") for name, size in (("a", 20), ("b", 20), ("c", 60))]
    line = Parts(every, SimpleNamespace(done=done), shown.append, 79)
    line.clock = Mock(side_effect=[0.0, 10.0])
    line.at(name, 0, None, 0)
    line.at(name, 10, None, 3)
    assert shown == [f"\r50% of 3 parts{where}, 9 rows: 10 s, about 10 s left"]


# What is told of rows


def test_tallies_add_up_in_the_order_of_the_rows():
    first, second = AgradError("domain", "one"), AgradError("domain", "two")
    whole = Tally()
    for formulas in [(4, 2, None), (0, 5, None)], [(1, 3, first), (2, 0, None)], [(6, 7, second), (0, 1, second)]:
        whole.add(Tally(2, 3, 5, formulas[1][2], 7, None, "", formulas, 1))
    assert (whole.rows, whole.written, whole.failed, whole.undefined, whole.missing) == (6, 9, 15, 21, 3)
    assert (whole.first, whole.formulas) == (second, [(11, 12, first), (2, 6, second)])


@each("problem, note", [(None, None), (AgradError("domain", "e", notes=["n"]), Note("u", notes=["m"]))])
def test_a_tally_that_is_written_down_reads_back(problem, note):
    told = Tally(5, 4, 3, problem, 2, note, "slow", [(1, 2, problem)], 1)
    again = read(json.loads(json.dumps(told.as_json())))
    texts = [
        (one and (one.message, list(one.notes))) for one in (again.first, again.first_undefined, again.formulas[0][2])
    ]
    assert texts == [problem and ("e", ["n"]), note and ("u", ["m"]), problem and ("e", ["n"])]
    assert again.as_json() == told.as_json()


# Parts of a file, and the folder of their results


@each("groups, most, ends", [(10, 1, [*range(1, 11)]), (11, 1, [*range(1, 12)]), (5, 2, [2, 4, 5]), (4, 2, [2, 4])])
def test_the_parts_of_a_file_are_all_its_row_groups_and_numbered_as_widely_as_the_last(monkeypatch, groups, most, ends):
    table = SimpleNamespace(row_groups=lambda: [(5, 10)] * groups, close=lambda: None)
    monkeypatch.setattr(parts, "open_table", lambda file: table)
    monkeypatch.setattr(parts, "_size", lambda file: 10 * groups)
    found = parts.planned("data/p.parquet", ["data/p.parquet"], "csv", 10 * most)
    assert [part.groups for part in found] == list(zip([0, *ends], ends, strict=False))
    assert sum(part.size for part in found) == 10 * groups
    assert [part.name for part in found] == [f"p-{n:0{len(str(len(ends) - 1))}}.csv" for n in range(len(ends))]


@each("names, told", [("a", "a"), ("ba", "a and 1 more"), ("cab", "a and 2 more")])
def test_a_folder_with_other_files_is_refused_with_their_number(tmp_path, names, told):
    folder = tmp_path / names
    folder.mkdir()
    for name in (*names, ".hidden"):
        (folder / name).touch()
    with pytest.raises(AgradError, match=f"is not empty: it has {told}\n"), parts.recorded(str(folder), resume=False):
        pass


@each("asked, size, used", [(AUTO, LARGE, NATIVE), (AUTO, LARGE - 1, AUTO), ("python", LARGE, "python")])
def test_a_large_file_is_computed_in_machine_code_unless_another_backend_is_asked_for(asked, size, used):
    pytest.importorskip("llvmlite")
    assert Job._backend(SimpleNamespace(table=SimpleNamespace(size=size)), asked) == used


@each("column", [["a", "", "c"], np.array([0.0, 1.0, 2.0])])
def test_of_a_column_the_rows_are_chosen_that_are_kept(column):
    assert list(_chosen(column, np.array([True, False, True]))) == [column[0], column[2]]


# Uncertainties, advice


@each("given, u", [("0", 0.0), ("0.5", 1.0)])
def test_an_uncertainty_of_0_is_one(inside, tmp_path, given, u):
    (tmp_path / "d.csv").write_text("x\n3\n")
    out, err, code = inside("map", "2*x", "d.csv", "--u", f"x={given}")
    assert (float(out.split()[-1].split(",")[-1]), err, code) == (u, "", 0)


@each("data, advice", [("d.csv", ["write .csv or .jsonl, which take texts too"]), (None, ["before"])])
def test_where_nothing_is_copied_no_other_form_is_advised(data, advice):
    problem = AgradError("file", "bad", facts=BadEntry(1, 1, True), fixes=[Hint("before")])
    with pytest.raises(AgradError), advised(["map"], " ".join, data):
        raise problem
    assert [str(fix) for fix in problem.fixes] == advice


# A cluster


@each("name, kind", [("agrad", "extra"), ("agrad.cli.data", "extra"), ("numpy", None), ("x.agrad", None), (None, None)])
def test_a_worker_without_agrad_is_said_to_be_one(name, kind):
    error = ModuleNotFoundError("there is none", name=name)
    if kind is None:
        with pytest.raises(ModuleNotFoundError):
            cluster.failure(error, "x")
    else:
        assert cluster.failure(error, "x").kind == kind


@each(
    "order, fails, cancelled, added",
    [([2, 0, 1, 3], {2}, [(3, 4)], [0, 1]), ([3, 1, 0], {1, 3}, [(4, 4), (2, 3)], [0])],
)
def test_the_first_part_that_fails_is_told_and_those_before_it_are_computed(
    monkeypatch, order, fails, cancelled, added
):
    distributed = pytest.importorskip("distributed")
    problems = {place: AgradError("domain", f"part {place}") for place in fails}
    tasks = [SimpleNamespace(key=n, result=Mock(side_effect=problems[n]) if n in fails else Mock()) for n in range(4)]
    batches = [[tasks[place]] for place in order]
    waiting = SimpleNamespace(is_empty=lambda: not batches, next_batch=lambda block: batches.pop(0))
    monkeypatch.setattr(distributed, "as_completed", lambda tasks, loop: waiting)
    client, record, line = Mock(), Mock(), Mock()
    client.nthreads.return_value = {"one": 1}
    with pytest.raises(AgradError, match=f"part {min(fails)}"):
        cluster._collect(client, tasks, [parts.Part(str(n)) for n in range(4)], record, line)
    assert [call.args[0] for call in client.cancel.call_args_list] == [tasks[a:b] for a, b in cancelled]
    assert [call.args[0].file for call in record.add.call_args_list] == [*map(str, added)]
    assert client.nthreads.call_count == 1  # the scheduler is not asked at each look
    assert {call.args for call in line.at.call_args_list} == {("on 1 worker", 0, None, 0)}


def test_the_processes_of_a_cluster_are_ended_at_once(monkeypatch):
    killed, nannies = [], {n: SimpleNamespace(pid=n, auto_restart=True) for n in (7, 8)}
    monkeypatch.setattr(os, "kill", lambda *words: killed.append(words))
    cluster._kill(SimpleNamespace(workers=nannies))
    assert killed == [(7, signal.SIGKILL), (8, signal.SIGKILL)]
    assert not any(one.auto_restart for one in nannies.values())


# Values from files


# `a:b` is the name of a file, although there is one called a
WORDS = [("a", [[1], [2]]), ("a:0", [1, 2]), ("a:b", [[1, 2], [3, 4]]), ("t.csv:b", [5]), ("t.csv:c:d", [6])]


@each("word, value", WORDS)
def test_the_name_of_a_file_or_of_a_column_may_have_colons(tmp_path, monkeypatch, word, value):
    monkeypatch.chdir(tmp_path)
    for name, text in (("a", "1\n2\n"), ("a:b", "1 2\n3 4\n"), ("t.csv", "b,c:d\n5,6\n")):
        (tmp_path / name).write_text(text)
    assert from_file(word).value.tolist() == value


@each("option, fixes", [("header", 2), ("skip", 0)])
def test_only_of_a_first_row_it_is_asked_whether_it_has_the_names(monkeypatch, option, fixes):
    problem = AgradError("file", "two ways", facts=OtherForm(option, (1, 0)))
    monkeypatch.setattr("agrad.cli.data.at_file._all", Mock(side_effect=problem))
    with pytest.raises(AgradError):
        from_file("d.csv")
    assert len(problem.fixes) == fixes
