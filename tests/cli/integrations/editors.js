// What the extension imports, in place of VS Code and of the client: they note what is asked of them.
const Module = require("node:module");
const said = [], registered = {};
const settings = { path: process.argv[2] }, fails = process.argv[3];
let changed;
const stubs = {
  vscode: {
    window: { showWarningMessage: (text) => said.push(["warning", text]) },
    workspace: {
      getConfiguration: (section) => ({ get: (key) => (section === "agrad" ? settings[key] : undefined) }),
      onDidChangeConfiguration: (take) => { changed = take; return {}; },
    },
    commands: { registerCommand: (name, run) => { registered[name] = run; return {}; } },
  },
  "vscode-languageclient/node": {
    LanguageClient: class {
      constructor(id, server, options) { said.push(["client", id, server, options]); }
      async start() { if (fails) throw new Error(fails); said.push(["start"]); }
      async stop() { said.push(["stop"]); }
    },
  },
};
const load = Module._load;
Module._load = (name, ...rest) => stubs[name] ?? load(name, ...rest);
(async () => {
  const { activate, deactivate } = require(process.argv[1]);
  const context = { subscriptions: [] };
  await activate(context);
  await registered["agrad.restart"]();
  await changed({ affectsConfiguration: () => false });
  await deactivate();
  console.log(JSON.stringify({ said, commands: Object.keys(registered), kept: context.subscriptions.length }));
})();
