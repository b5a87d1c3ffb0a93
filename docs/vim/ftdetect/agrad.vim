autocmd BufRead,BufNewFile *.ag setfiletype agrad
