"""The lesson of `agrad learn`: its chapters, and the teacher who reads them out and looks at what a learner does.

`chapters/` has the texts, a file for each chapter, in Markdown: prose, transcripts in blocks of kind `agrad`, and
tasks, which are quotations. Below a task stand lines that begin with a word and a colon; what belongs to one is
indented by four columns:

    check: x.grad == 6      a condition; the task is done when all of its conditions hold
    right: …                what is then said
    when: x.grad == 12      a condition of a wrong answer, and indented below it what is said; the first that holds
        try: backward y     … preceded by an example of such an answer, for the tests; ` ;; ` separates statements
    also: …                 another right answer, for the tests
    hint: …                 what `hint` says; several are said one after the other
    answer:                 a transcript with a right answer, which `skip` types

A condition is an expression of the language, or `fails KIND: STATEMENT`; looking at it changes nothing. `error KIND`
holds if the last statement failed with an error of that kind, `prints TEXT` if it printed the text, and `says WORD` if
a word such as `no` was typed alone; `computed` holds if it was no bare number. `typed PATTERN` and `untyped PATTERN`
look at the statements in effect since the task was set. Several in a line are separated by ` ;; `.
A comment <!-- EXPRESSION --> is a claim of the prose, which the tests check where it stands.

`chapters` reads these files, `conditions` looks at a session, `teacher` goes through a chapter, `progress` keeps how
far a learner came, `pages` makes text and Markdown of chapters. The prompt is that of `agrad repl`.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
