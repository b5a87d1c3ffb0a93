"""The options of `agrad run`: names, arguments, going on after errors, checking without running, no files."""

import json

import pytest


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.ag"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


def first_lines(err):
    """The headline of each error, and what stands at the margin besides."""
    return [line for line in err.splitlines() if not line.startswith(" ")]


# Names and arguments


def test_names_have_values_from_the_start(agrad, script):
    file = script("print k, v, w\nbackward w*k\ngrad w\n")
    given = ("-D", "k=2*3", "-D", "v=[1, k]", "-D", "w=tensor(2, requires_grad=True)")
    assert agrad("run", *given, file) == ("6 [1, 6] 2\nw.grad = 6\n", "", 0)


def test_a_script_may_give_a_name_another_value(agrad, script):
    assert agrad("run", "-D", "k=2", script("k\nk = 3\nk\n")) == ("2\n3\n", "", 0)


@pytest.mark.parametrize(
    ("word", "told", "code"),
    [
        ("k", "-D takes NAME=VALUE, and k is not one", 2),
        ("k=", "in -D k=", 2),
        ("k=q", "error[name]: q has no value", 1),
        ("load=3", "error[syntax]: load is a reserved word of agrad; choose another name", 2),
    ],
)
def test_a_name_that_cannot_be_given(agrad, script, word, told, code):
    out, err, ended = agrad("run", "-D", word, script("print 1"))
    assert (out, ended) == ("", code)
    assert told in err


def test_a_name_is_given_once(agrad, script):
    assert "-D gives k twice" in agrad("run", "-D", "k=1", "-D", "k=2", script("k"))[1]


def test_arguments_are_texts(agrad, script):
    file = script("print len(args), args[1]\nprint float(args[0])*2\nassert args[0] == '2.5'\n")
    assert agrad("run", file, "--", "2.5", "--json") == ("2 --json\n5\n", "", 0)
    assert agrad("run", script("args"), "--") == ("()\n", "", 0)
    assert agrad("run", script("len(args)")) == ("0\n", "", 0)


def test_arguments_stand_behind_the_file_and_behind_two_minuses(agrad, script):
    file = script("args")
    assert agrad("run", file, "3", "b") == ("('3', 'b')\n", "", 0)
    assert agrad("run", file, "3", "--json", "--", "-4")[0] == '{"schema": 1, "text": "(\'3\', \'-4\')"}\n'
    assert agrad(file, "3", "-4") == ("('3', '-4')\n", "", 0)


def test_d_takes_one_name(agrad, script):
    out, err, code = agrad("run", "-D", "a=1,b=2", script("1"))
    assert (out, code) == ("", 2)
    assert err.endswith("Error: -D takes one name and its value; repeat it for the next: -D a=1 -D b=2\n")


# Errors


def test_going_on_after_an_error(agrad, script):
    out, err, code = agrad("run", "--keep-going", script("1\nq\n2\nfor i in range(2): assert i == 0\n3\n"))
    assert (out, code) == ("1\n2\n3\n", 1)
    assert first_lines(err) == [
        "script.ag:2:1: error[name]: q has no value",
        "script.ag:4:27: error[assert]: the assertion does not hold",
        "2 errors",
    ]


def test_of_a_script_with_a_syntax_error_nothing_runs_and_all_of_them_are_told(agrad, script):
    out, err, code = agrad("run", "-k", script("1\nx = = 1\n2\ny = )\n"))
    assert (out, code) == ("", 2)
    assert [line.split(":")[1] for line in first_lines(err)[:2]] == ["2", "4"]
    told = " ".join(agrad("run", "--help")[0].split())
    assert "Nothing of a script with a syntax error is run" in told and "all of its syntax errors are reported" in told


def test_one_error_is_counted_too(agrad, script):
    assert first_lines(agrad("run", "-k", script("q\n"))[1])[-1] == "1 error"
    assert agrad("run", "-k", script("1\nquit\nq\n")) == ("1\n", "", 0)


def test_the_first_error_gives_the_exit_code(agrad, script):
    script("x = = 1\n", "broken.ag")
    assert agrad("run", "-k", script("load 'broken.ag'\nq\n"))[2] == 2
    assert agrad("run", "-k", script("q\nload 'broken.ag'\n"))[2] == 1


def test_what_cannot_be_read_runs_in_no_part(agrad, script):
    out, err, code = agrad("run", "-k", script("1\nx = = 2\n"))
    assert (out, code) == ("", 2)
    assert len(first_lines(err)) == 1


def test_all_that_cannot_be_read_is_told(agrad, script):
    out, err, code = agrad("run", "-k", script("1\nzork\n2x\ndef f(x):\n    y = [1,\n        2 3]\n    return 3x\n"))
    assert (out, code) == ("", 2)
    assert [line.partition(" ")[0] for line in first_lines(err)] == [
        "script.ag:3:2:",
        "script.ag:6:11:",
        "script.ag:7:13:",
        "3",
    ]
    out, err, code = agrad("run", "-k", "--json", script("2x\n3y\n"))
    assert (out.count('"kind": "syntax"'), code) == (2, 2)


def test_when_the_time_is_up_nothing_goes_on(agrad, script):
    out, err, code = agrad("run", "-k", "--timeout", "0.5", script("while 1: pass\nprint 1\n"))
    assert (out, code) == ("", 124)
    assert len(first_lines(err)) == 1


def test_errors_of_loaded_scripts_show_their_own_lines(agrad, script):
    script("k = 1\ny = q\n", "lib/a.ag")
    err = agrad("run", script('load "lib/a.ag"\n'))[1]
    assert err.splitlines()[0] == "lib/a.ag:2:5: error[name]: q has no value"


def test_an_error_is_at_the_instruction_that_failed_not_where_its_cause_is(agrad, script):
    err = agrad("run", script("var x = 2\ny = x**2\nbackward y\n\ndef f():\n    backward y\nf()\n"))[1]
    assert err.splitlines()[0].startswith("script.ag:6:5: error[freed]: ")


def test_quiet_leaves_the_notes_out(agrad, script):
    file = script("var x = 0\nbackward sqrt(x)\nx.grad\n")
    assert "note" in agrad("run", file)[1]
    assert agrad("run", "-q", file) == ("inf\n", "", 0)


def test_results_and_errors_as_json(agrad, script):
    out, err, code = agrad("run", "--json", "-k", script("1\nq\n2\n"))
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.get("value") for line in lines] == [1, None, 2]
    assert lines[1]["error"]["kind"] == "name"
    assert (err, code) == ("1 error\n", 1)


# Checking


def test_a_check_runs_nothing_and_tells_all(agrad, script):
    out, err, code = agrad("run", "--check", script("print 1\ny = sni(2)\nq\nsin(1, 2)\n"))
    assert (out, code) == ("", 1)
    assert first_lines(err) == [
        "script.ag:2:5: error[name]: there is no function sni",
        "script.ag:3:1: error[name]: q has no value",
        "script.ag:4:1: error[arity]: sin got one argument too many: sin(x)",
        "3 errors",
    ]


def test_a_check_tells_all_that_cannot_be_read(agrad, script):
    out, err, code = agrad("run", "--check", script("x = = 2\ny = 1\nz = (3\n"))
    assert (out, code) == ("", 2)
    assert [line.partition(" ")[0] for line in first_lines(err)] == ["script.ag:1:5:", "script.ag:3:5:", "2"]


def test_a_check_knows_the_names_that_are_given_and_the_arguments(agrad, script):
    file = script("print args[0], k\nload_csv(args[0])\n")
    assert agrad("run", "--check", "-D", "k=1", file) == ("", "", 0)
    assert agrad("run", "--check", file)[2] == 1


def test_a_check_reads_what_is_loaded(agrad, script):
    script("q\n", "lib/a.ag")
    assert first_lines(agrad("run", "--check", script("load 'lib/a.ag'\n"))[1])[0].startswith("lib/a.ag:1:1: ")
    _, err, code = agrad("run", "--check", "--no-files", script("load 'lib/a.ag'\n"))
    assert first_lines(err)[0] == "script.ag:1:6: error[file]: load: file access is switched off"
    assert code == 1


def test_a_check_of_standard_input(agrad):
    assert agrad("run", "--check", "-", given="q\n")[1].startswith("<stdin>:1:1: error[name]: ")


# Files


@pytest.mark.long
def test_no_files_for_every_command(agrad, script):
    script("1,2\n", "a.csv")
    message = "error[file]: load_csv: file access is switched off"
    assert message in agrad("run", "--no-files", script('load_csv("a.csv")'))[1]
    assert message in agrad("eval", "--no-files", 'load_csv("a.csv")')[1]
    assert message in agrad("repl", "--no-files", given='load_csv("a.csv")\n')[1]
    assert agrad("eval", 'sum(load_csv("a.csv"))') == ("3\n", "", 0)


def test_data_start_where_agrad_runs_and_scripts_and_beside_at_the_script(agrad, script):
    script("1,2\n", "here.csv")
    script("3,4\n", "lib/there.csv")
    script("k = 5\n", "lib/b.ag")
    file = script(
        'load "b.ag"\nprint k, tensor(load_csv("here.csv")), tensor(load_csv(beside("there.csv")))\n', "lib/a.ag"
    )
    assert agrad("run", file) == ("5 [[1, 2]] [[3, 4]]\n", "", 0)


# As agrad reads it


def test_a_script_of_pytorch_as_agrad_reads_it(agrad, script):
    file = script("import torch\nx = torch.sin(1)\nprint(x)\n", "a.py")
    assert agrad("run", "--port", file) == (
        "# import torch   dropped: the names of agrad, math, numpy and torch are known\n"
        "x = sin(1)  # torch.sin -> sin\n"
        "print(x)\n",
        "",
        0,
    )


def test_what_is_left_is_reported(agrad, script):
    file = script("x = torch.foo(1)\nx = 3 +\n", "a.py")
    out, err, code = agrad("run", "--port", file)
    assert (out, code) == ("x = torch.foo(1)\nx = 3 +  # agrad cannot run this: a value is missing after `+`\n", 1)
    assert first_lines(err) == ["a.py:2:8: error[syntax]: a value is missing after `+`", "1 error"]
    out, err, code = agrad("run", "--port", script("x = torch.foo(1)\n", "b.py"))
    assert (out, code) == ("x = torch.foo(1)  # agrad cannot run this: agrad has no torch.foo\n", 1)
    assert first_lines(err) == ["b.py:1:5: error[name]: agrad has no torch.foo", "1 error"]


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("var x = 2\ny = x**2", "-D x=3 has no effect: the script gives x another value"),
        ("x = 2\nprint x", "-D x=3 has no effect: the script gives x another value"),
        ("var x = x\nprint x", ""),
        ("y = x**2\nx = 2", ""),
        ("x += 1", ""),
        ("for i in range(2): x = i", ""),
    ],
)
def test_a_given_name_that_the_script_gives_another_value(inside, script, text, noted):
    _, err, code = inside("run", "-D", "x=3", script(text))
    assert code == 0
    assert noted in err and ("note" in err) == bool(noted)
