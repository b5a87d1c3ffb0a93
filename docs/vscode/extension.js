// Starts the language server, `agrad lsp`, for the scripts of agrad.

const { homedir } = require("node:os");
const { window, workspace, commands } = require("vscode");

let client;

/** The command of the settings. */
function command() {
  return workspace.getConfiguration("agrad").get("path").replace(/^~(?=\/)/, homedir());
}

/** Start the server. Without it, the editor still has the colours. */
async function start() {
  const server = { command: command(), args: ["lsp"] };
  try {
    const { LanguageClient } = require("vscode-languageclient/node");
    client = new LanguageClient("agrad", server, { documentSelector: [{ language: "agrad" }] });
    await client.start();
  } catch (problem) {
    client = undefined;
    window.showWarningMessage(
      `agrad: ${server.command} lsp did not start: ${problem.message}. ` +
        "The README of the extension says what it needs.",
    );
  }
}

/** End the server. */
async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

/** Called by the editor with the first script. */
async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    commands.registerCommand("agrad.restart", restart),
    workspace.onDidChangeConfiguration((changed) => changed.affectsConfiguration("agrad.path") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
