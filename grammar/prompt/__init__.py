"""What a prompt tells beside the answers.

`live`: the value of what is typed; `changes`: what a statement has changed; `graphs`: what a bare command is about, how
a key moves a leaf, and what the graphs hold.
"""
