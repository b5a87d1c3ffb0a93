" Made by `make docs` from the grammar of agrad.
if exists("b:current_syntax") | finish | endif
syn match agradoperator /[-+*\/%@^=<>!~,.:;()\[\]{}|±√×·−≤≥≠]/
syn match agradnumber /\v<%(%(%([0-9]+\.[0-9]*|\.[0-9]+)\(%([0-9]+%(\.[0-9]*)?|\.[0-9]+)\)|[0-9]{2}\([0-9]\)|[0-9]{3}\([0-9]{1,2}\)|[0-9]{4}\([0-9]{1,3}\)|[0-9]{5}\([0-9]{1,4}\)|[0-9]{6}\([0-9]{1,5}\)|[0-9]{7,}\([0-9]{1,6}\))%([eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F]+%(_[0-9a-fA-F]+)*|0[bB][01]+%(_[01]+)*|0[oO][0-7]+%(_[0-7]+)*|%([0-9]+%(_[0-9]+)*%(\.%(\.)@!%([0-9]+%(_[0-9]+)*)?)?|\.[0-9]+%(_[0-9]+)*)%([eE][+-]?[0-9]+%(_[0-9]+)*)?)/
syn match agradcommand /\v%(%(^|[;:])\s*)@<=<%(calculator|correlate|histogram|zero_grad|backward|maximize|minimize|contour|explain|formula|forward|history|no_grad|tangent|budget|export|graphs|report|retain|again|check|fails|graph|limit|print|reset|solve|study|watch|area|grad|help|info|last|load|plot|quit|redo|save|step|time|undo|unit|vars|fit|set|use|var)>%(\s+%((if|and|or|in|is|else|for|not)>)@![[:alpha:]_0-9.\"']|\s*%($|[;#:]))@=/
syn keyword agradkeyword False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield
syn match agradcomment /#.*/
syn region agradstring start=/[fF]\='/ skip=/\\./ end=/'/ oneline
syn region agradstring start=/[fF]\="/ skip=/\\./ end=/"/ oneline
syn region agradstring start=/[fF]\='''/ skip=/\\./ end=/'''/
syn region agradstring start=/[fF]\="""/ skip=/\\./ end=/"""/
syn match agradcommand /\v[[:alnum:]_)\]"']\s+\zs<%(create_graph|derivative|gradients|coverage|shortest|hessian|profile|samples|beyond|errors|labels|levels|method|retain|depth|fresh|marks|order|sigma|title|trace|until|value|bins|logy|loss|open|over|seed|tied|twin|log|off|wrt|at|to|vs|k)>%(\s*[=(.,])@!/
hi def link agradoperator Operator
hi def link agradnumber Number
hi def link agradcommand Statement
hi def link agradkeyword Keyword
hi def link agradcomment Comment
hi def link agradstring String
let b:current_syntax = "agrad"
