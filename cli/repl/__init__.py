"""The prompt of `agrad repl`: completion, highlighting, history, the line below the prompt, and the crash log.

The loop that runs statements is in `commands/repl`; statements come from `input/`. These modules read a session of
`grammar` and never change it, except `crash_log`, which restores one. Only `commands/repl` and `input/` import from
here: prompt_toolkit takes longer to load than everything else.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
