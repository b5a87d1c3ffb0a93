"""The prompt of `agrad repl`: completion, highlighting, history, the line below the prompt, and the crash log.

The loop that runs statements is in `commands/repl`; statements come from `input/`. What is here asks a session of
`grammar` and never changes it, except `crash_log`, which restores one. Only `commands/repl` and `input/` import from
here: prompt_toolkit takes longer to load than all the rest.
"""
