"""Every answer in docs/tour.md, and in the pages on single subjects, is what agrad answers.

After a change that is meant: python tests/test_tour.py writes today's answers into them.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))  # for Python; pytest adds it by itself
from rows import each
from transcript import replayed
from workshops import equipped

TOUR = Path(__file__).parents[1] / "docs" / "tour.md"
PAGES = [
    TOUR.with_name(f"{name}.md")
    for name in "semantics uncertainty roots minima fits integrals units files pictures".split()
]
TASK = re.compile(r"(?=^\*\*\d+\. )", re.MULTILINE)
BLOCK = re.compile(r"^```(console|agrad)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def tasks():
    """Each task of the tour, which begins with its number."""
    return TASK.split(TOUR.read_text(encoding="utf-8"))[1:]


def answered(text, place):
    """The same text, with today's answers in its blocks."""

    def again(block):
        kind, lines = block.groups()
        return f"```{kind}\n{replayed(lines, at_terminal=True) if kind == 'agrad' else run(lines, place)}```"

    return BLOCK.sub(again, text)


def run(lines, place):
    """Each command behind a `$`, and below it all that it writes."""
    written = []
    for command in re.findall(r"^\$ (.*)$", lines, re.MULTILINE):
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, **both, **place)
        written.append(f"$ {command}\n{done.stdout.decode()}")
    return "".join(written)


@each("task", tasks(), short=4)
def test_a_task_of_the_tour(task, tmp_path):
    assert answered(task, equipped(tmp_path / task.split(".")[0].strip("*"))) == task


@each("page", PAGES)
def test_the_answers_of_a_page(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    assert answered(text, equipped(tmp_path / page.stem)) == text


def test_the_tasks_are_counted():
    numbers = [int(number) for number in re.findall(r"^\*\*(\d+)\. ", TOUR.read_text(encoding="utf-8"), re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 30


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = equipped(Path(folder))
        for page in (TOUR, *PAGES):
            page.write_text(answered(page.read_text(encoding="utf-8"), place), encoding="utf-8")


if __name__ == "__main__":
    main()
