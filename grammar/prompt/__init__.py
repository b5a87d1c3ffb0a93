"""What a prompt tells beside the answers.

`live`: the value of what is typed; `changes`: what a statement has changed; `newest`: what a bare command is about;
`noise`: which numbers are rounding noise, by the bound in `rounding`.
"""
