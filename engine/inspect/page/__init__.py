"""A graph as a page for web browsers: one file, which shows it, steps through it, and computes it anew.

`page.render` writes it: `walks` records the backward passes from the values, `code` writes what the page computes in
JavaScript, `folding` decides which nodes are one box. `page.html`, `page.css` and `page.js` are the page itself.
"""
