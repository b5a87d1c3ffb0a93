"""--timeout and --max-memory, which eval, run and repl have alike."""

import json
import sys

import pytest

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="the system keeps no such limits"), pytest.mark.long]

SLOW = "while 1: pass\n"


def test_timeout_stops_an_expression(agrad):
    out, err, code = agrad("eval", "--timeout", "0.3", "-", given="1" + " + 1" * 200_000)
    assert (out, code) == ("", 124)
    assert err.startswith("error[limit]: this took longer than 0.3 s, the limit")


def test_what_fails_in_time_has_its_own_exit_code(agrad):
    assert agrad("eval", "--timeout", "60", "f(60)", "f=1")[2] == 1
    assert agrad("eval", "--timeout", "60", "f(60")[2] == 2


def test_timeout_stops_a_script_with_its_place(agrad, tmp_path):
    (tmp_path / "slow.ag").write_text(f'print "begun"\n{SLOW}print "never"\n')
    out, err, code = agrad("run", "--timeout", "3", "slow.ag")
    assert (out, code) == ("begun\n", 124)
    assert err.startswith("slow.ag:2:1: error[limit]: this took longer than 3 s, the limit\n")


def test_timeout_is_for_the_whole_script(agrad):
    _, err, code = agrad("run", "--timeout", "0.5", "-", given="for i in range(30000): pass\n" * 400)
    assert code == 124
    assert "this took longer than 0.5 s" in err


def test_timeout_stops_a_statement_of_a_session_and_the_next_one_runs(agrad):
    given = f"x = 1\n{SLOW}x\nfor i in range(10): pass\nx\n"
    out, err, code = agrad("repl", "--timeout", "2", given=given)
    assert (out, code) == ("1\n1\n", 124)
    assert "this took longer than 2 s, the limit" in err
    assert "fix: limit time=20" in err


def test_timeout_that_numpy_cannot_hear_is_json_for_those_who_ask(agrad):
    slow = 'einsum("ab,cd->", ones(700, 700), ones(900, 900))'
    out, err, code = agrad("eval", "--timeout", "3", slow, "--json")
    error = json.loads(out)["error"]
    assert (error["kind"], error["message"], err, code) == (
        "limit",
        "the time limit was exceeded in the middle of a computation",
        "",
        124,
    )


def test_timeout_ends_a_piped_session_that_numpy_computes_in(agrad):
    given = 'x = 1\nx\neinsum("ab,cd->", ones(700, 700), ones(900, 900))\nx + 1\n'
    assert agrad("repl", "--timeout", "3", given=given) == (
        "1\n",
        "error[limit]: the time limit was exceeded in the middle of a computation\n",
        124,
    )


def test_within_its_time_nothing_is_different(agrad):
    assert agrad("eval", "--timeout", "60", "a**2", "a=3", "--wrt", "a") == ("9\nd/da = 6\n", "", 0)
    assert agrad("eval", "--timeout", "1e300", "a**2", "a=3") == ("9\n", "", 0)
    assert agrad("run", "--timeout", "60", "-", given="print 6*7") == ("42\n", "", 0)
    assert agrad("repl", "--timeout", "60", given="6*7") == ("42\n", "", 0)


@pytest.mark.parametrize("command", ["eval", "run", "repl"])
def test_max_memory_refuses_what_is_larger(agrad, command):
    text = "sum(zeros(1e8))"
    arguments, given = ([text], "") if command == "eval" else (["-"] if command == "run" else [], text)
    out, err, code = agrad(command, "--max-memory", "500MB", *arguments, given=given)
    assert (out, code) == ("", 1)
    assert "error[limit]: zeros(1e8) needs 800 MB; the limit is 500 MB" in err
    assert "fix: --max-memory 1GB" in err
    larger = agrad(command, "--max-memory", "4 GB", *arguments, given=given)
    assert larger[0] == "0\n"


@pytest.mark.skipif(sys.platform == "darwin", reason="the system does not keep this limit")
def test_max_memory_is_for_all_that_is_kept(agrad):
    text = "x = ()\nfor i in range(10000): x = (x, ones(1e6))\n"
    out, err, code = agrad("run", "--max-memory", "500MB", "-", given=text)
    assert (out, code) == ("", 1)
    assert "<stdin>:2:" in err
    assert "error[limit]: there is not enough memory for the 8 MB of ones(1e6); the limit is 500 MB" in err


@pytest.mark.skipif(sys.platform == "darwin", reason="the system does not keep this limit")
def test_a_session_goes_on_after_it_ran_out_of_memory(agrad):
    text = 'x = 1\nfor i in range(1e6): x = (x, ones(1e6))\nx\nlimit memory="64 GB"\ny = zeros(1e9)\nx\n'
    out, err, code = agrad("repl", "--max-memory", "500MB", given=text)
    assert (out, code) == ("1\n1\n", 1)
    assert err.count("error[limit]: there is not enough memory") == 2  # `limit` does not lift what the option says


def test_what_eval_says_of_the_default_limit_can_be_typed(agrad):
    _, err, code = agrad("eval", "zeros(1e13)")
    assert code == 1
    assert "zeros(1e13) needs 80 TB; the limit is" in err
    assert "limit memory=" not in err
