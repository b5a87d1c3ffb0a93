"""What a prompt tells beside the answers.

`live`: the value of what is typed; `changes`: what a statement has changed, what a bare command is about, and
how a key moves a leaf.
"""
