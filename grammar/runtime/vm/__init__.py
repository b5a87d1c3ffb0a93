"""The virtual machine: it runs bytecode on a stack, one class for each group of instructions.

`machine.Machine` joins the groups and has the loop. `host.Host` is the protocol of the session that it runs for.
From outside, import `Machine` and `MISSING` from here.
"""

from agrad.grammar.runtime.vm.core import MISSING
from agrad.grammar.runtime.vm.machine import Machine

__all__ = ["MISSING", "Machine"]
