"""Values that only the language has: lists, whose parts stay what they are, and what is done to them and to texts.

Numbers, arrays and graphs are the engine's. From outside, import `List` from `lists`.
"""
