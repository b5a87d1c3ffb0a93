-- What Neovim shows and does with the language server, as JSON on stdout. The script is the file that is open.
local function sync(method, params)
  local found = vim.lsp.buf_request_sync(0, method, params, 60000)
  for _, one in pairs(found or {}) do
    return one.result or one.error or vim.NIL
  end
end
local function at(line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  return vim.lsp.util.make_position_params(0, "utf-16")
end
local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")
end
local function waits(holds)
  assert(vim.wait(60000, holds, 50), "nothing came")
end

local told = {}
waits(function() return #vim.diagnostic.get(0) > 0 end)
told.errors = vim.tbl_map(function(one) return { one.lnum, one.code } end, vim.diagnostic.get(0))
local whole = vim.lsp.util.make_range_params(0, "utf-16")
whole.range = { start = { line = 0, character = 0 }, ["end"] = { line = 9, character = 0 } }
whole.context = { diagnostics = {} }
local actions = sync("textDocument/codeAction", whole)
told.actions = vim.tbl_map(function(one) return one.title end, actions)
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
waits(function() return #vim.diagnostic.get(0) == 0 end)
told.references = #sync("textDocument/references", vim.tbl_extend("force", at(2, 8), { context = { includeDeclaration = true } }))
told.highlights = #sync("textDocument/documentHighlight", at(2, 8))
told.symbols = vim.tbl_map(function(one) return one.name end, sync("textDocument/documentSymbol", at(1, 0)))
told.folds = #sync("textDocument/foldingRange", at(1, 0))
told.signature = sync("textDocument/signatureHelp", at(3, 9)).signatures[1].label
waits(function() return #vim.lsp.semantic_tokens.get_at_pos(0, 0, 0) > 0 end)
told.colour = vim.lsp.semantic_tokens.get_at_pos(0, 0, 0)[1].type
at(2, 8)
vim.lsp.buf.rename("shift")
waits(function() return text():find("shift") end)
told.refused = sync("textDocument/rename", vim.tbl_extend("force", at(3, 4), { newName = "w" })).message
vim.lsp.buf.format({ timeout_ms = 60000 })
told.text = text()
io.write(vim.json.encode(told))
vim.cmd("qa!")
