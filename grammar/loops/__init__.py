"""Loops with many iterations, which are compiled.

`hot_loops` counts iterations and decides when; `staging` runs one iteration on proxies to record it; `compiled_run`
runs the recorded iteration many times, in machine code where it can. The session imports `hot_loops.counter`, and
nothing else is for use from outside. The virtual machine knows nothing of this folder.
"""
