"""Lowering: from a program of arrays to what machine code computes.

`scalarise` makes a program of numbers of one whose arrays are small, an instruction for each entry; `plan` derives
the programs that a compiled function needs, value, gradients and Jacobian, and says how each is lowered; `packed`
calls machine code for numbers with arrays; `paths` puts programs that differ in the outcomes of guards into a tree, and
`joined` makes one function of it; `cost` estimates, by counting, what each way of computing a program takes.
Operations state in their rows how they are expanded (`moves_entries`, `entries`).
"""
