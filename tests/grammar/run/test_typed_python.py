"""What is being typed where Python is read: waiting for lines, colours, completion, the value below the prompt."""

from agrad.grammar.diagnostics import Source
from agrad.grammar.help.completion import completions
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import readings
from agrad.grammar.syntax.typed import can_be_read, needs_more, strangers, tokens

SETUP = """
import torch, math
import torch.nn.functional as F
x = torch.tensor(3., requires_grad=True)
w = torch.ones(2)
n = 3
words = ["a", "b"]
net = torch.nn.Linear(2, 1)
class A:
    def m(self, k=1): pass
    @property
    def p(self): raise ValueError
a = A()
class Loud:
    def __repr__(self): raise ValueError
loud = Loud()
def f(first, second=2): return first
"""
PARTS = {
    "x = 2": ["c"],
    "import math": ["p"],
    "x = 2\nimport math\nx": ["c", "p"],
    "x = 2; import math": ["p"],
    "if x:\n    import math\nelse:\n    y = 1\nx": ["p"],
    "@f\ndef g():\n    from math import pi\n": ["p"],
    "def g() = 2\n\ndef h():\n    import math\n": ["c", "p"],
    "import math\ncalculator\n2^3\nimport math": ["p", "c", "p"],
    '"""\nimport math\n"""': ["c"],
    "# import math": ["c"],
    "from = 3": ["c"],
    "important = 2": ["c"],
    "import math\nx = '''\ncalculator\n'''": ["p"],
    "import math\ncalculator = 3": ["p"],
    "import math\nif x:\n    calculator\n": ["p"],
    ">>> import math\n>>> x = 2\n": ["p"],
}


def session():
    made = Session()
    made.run(SETUP)
    return made


def test_an_import_begins_a_part_of_python_and_calculator_ends_it():
    wrong = []
    for text, kinds in PARTS.items():
        found = ["p" if part.is_python else "c" for part in readings.parts(Source("session", text))]
        wrong += [] if found == kinds else [(text, found)]
    assert wrong == []


def test_a_file_of_python_is_one_part():
    assert len(readings.parts(Source("x.py", "import math\ncalculator\n", 1, True))) == 1


MORE = ["f(", "x = [1,", "if x:", "if x:\n    y", "class A:", "'''a", "@f", "try:\n    x", "x = \\", "import math\nif x:"]  # fmt: skip
WHOLE = ["x", "f()", "if x: y", "if x:\n    y\n", "x = )", "2 +", "graph y", "try:\n    x\nexcept E:\n    y\n", "1;", "", "x^2"]  # fmt: skip


def test_a_line_is_awaited_where_a_bracket_or_a_block_is_open():
    assert [text for text in MORE if not needs_more(text, True)] == []
    assert [text for text in WHOLE if needs_more(text, True)] == []


def test_what_can_be_read_follows_the_reading():
    assert can_be_read("x = 2 if y else 3; graph x; x @= 2", True)
    assert not can_be_read("def f(x) = x", True)
    assert can_be_read("def f(x) = x")
    assert can_be_read("x = 2..3\nimport math\ndef f():\n    yield 1\n") is can_be_read("x = 2..3")


def test_each_word_has_its_kind():
    text = "import math\nfor x in f(2.5, 'a#'):  # b\n    graph x\n    graph = 1\n"
    found = [(kind, text[start:end]) for kind, start, end in tokens(text)]
    assert ("keyword", "for") in found
    assert ("number", "2.5") in found
    assert ("string", "'a#'") in found
    assert ("comment", "# b") in found
    assert [kind for kind, word in found if word == "graph"] == ["command", "name"]
    assert "".join(word for _, word in found) == text.replace(" ", "").replace("\n", "").replace("#b", "# b")


def test_names_without_a_value_are_found():
    text = "y = [k + zork for k in xs]\ndef g(a): return a + other\n"
    assert [text[start:end] for start, end in strangers(text, True, {"xs"})] == ["other", "zork"]
    assert strangers("x = (", True, set()) == []


COMPLETED = {
    "torch.nn.Lin": "Linear", "torch.optim.SG": "SGD", "F.rel": "relu", "wor": "words", "a.": "m", "net.wei": "weight",
    "import to": "torch", "from torch import on": "ones", "from torch.nn import Lin": "Linear", "wh": "while", "'a'.up": "upper",
    "words.ap": "append", "f(sec": "second=", "x.gra": "grad", "bac": "backward", "y = tor": "torch", "if tor": "torch",
}  # fmt: skip


def test_a_word_is_completed_without_running_code_of_the_script():
    made = session()
    wrong = [text for text, word in COMPLETED.items() if word not in [one.text for one in completions(text, made)[1]]]
    assert wrong == []
    assert completions("'tor", made)[1] == completions("# tor", made)[1] == completions("nosuch.x", made)[1] == []
    assert all(one.text[0] != "_" for one in completions("torch.", made)[1])


LIVE = {
    "x*x": "= tensor(9.)   d/dx 6", "math.sin(0)": "= 0.0", "n**2": "= 9", "torch.sum(w)": "= tensor(2.)", "7//2": "= 3",
    "[4]*3": "", "n**n**n**n**n": "", "f(2)": "", "a.m()": "", "loud": "", "words": "= ['a', 'b']", "y = n + 1": "= 4",
    "zork": "", "words[0]": "= 'a'", "x.backward()": "", "words.append(1)": "", "open('x')": "", "'a'*10**9": "", "n +": "",
    "x.add_(1)": "", "torch.manual_seed(1)": "", "torch.rand(2)": "", "w[0] + n": "= tensor(4.)", "torch.relu(-w)": "= tensor([0., 0.])",
}  # fmt: skip


def test_the_value_of_what_is_typed_is_pythons_and_changes_nothing():
    made = session()
    live, before = Live(made), repr([made.names[name] for name in ("x", "w", "n", "words")])
    found = {text: live.value(text) for text in LIVE}
    assert [(text, found[text]) for text, meant in LIVE.items() if found[text] != meant] == []
    assert made.names["x"].grad is None
    assert repr([made.names[name] for name in ("x", "w", "n", "words")]) == before
    assert live("f(1, ") == "f(first, ‹second=2›)"
