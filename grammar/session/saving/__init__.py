"""What `save` writes of a session: a script that repeats it, or a transcript with its answers and pictures.

`transcript` keeps what was shown, while it is shown; `pages` writes it as Markdown or HTML; `script` writes the
statements in effect, and decides by the ending of the file. From outside, import `save` and `Transcript`.
"""
