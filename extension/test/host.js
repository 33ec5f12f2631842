"use strict";

// The part of VS Code's interface that the extension uses: what is shown is kept, what a person
// would type or choose is given, and events are sent by the tests.

const fs = require("node:fs");
const Module = require("node:module");
const manifest = require("../package.json");

const defaults = Object.fromEntries(
  Object.entries(manifest.contributes.configuration.properties).map(([name, each]) => [
    name,
    each.default,
  ]),
);

class Host {
  constructor(settings, roots) {
    this.settings = { ...defaults, ...settings };
    this.commands = new Map();
    this.status = { text: "", tooltip: "", show: () => {}, dispose: () => {} };
    this.written = "";
    this.errors = [];
    this.typed = "";
    this.listed = [];
    this.opened = [];
    this.subscriptions = [];
    this.workspaceFolders = roots.map((root) => ({ uri: uriOf(root) }));
  }

  get api() {
    const host = this;
    return {
      StatusBarAlignment: { Left: 1 },
      ProgressLocation: { Window: 10 },
      McpStdioServerDefinition: class {
        constructor(label, command, args, env) {
          Object.assign(this, { label, command, args, env });
        }
      },
      lm: {
        registerMcpServerDefinitionProvider: (id, provider) => {
          host.servers = () => provider.provideMcpServerDefinitions();
          return { dispose: () => {} };
        },
      },
      Range: class {
        constructor(startLine, startCharacter, endLine, endCharacter) {
          Object.assign(this, { startLine, startCharacter, endLine, endCharacter });
        }
      },
      commands: {
        registerCommand: (name, action) => {
          host.commands.set(name, action);
          return { dispose: () => host.commands.delete(name) };
        },
      },
      window: {
        createOutputChannel: () => ({
          append: (text) => (host.written += text),
          appendLine: (text) => (host.written += `${text}\n`),
          dispose: () => {},
        }),
        createStatusBarItem: () => host.status,
        showInputBox: async () => host.typed,
        showErrorMessage: async (text) => void host.errors.push(text),
        showQuickPick: async (items) => ((host.listed = items), items[0]),
        showTextDocument: async (document, options) => void host.opened.push([document, options]),
        withProgress: async (_, action) => action(),
      },
      workspace: {
        workspaceFolders: host.workspaceFolders,
        getConfiguration: (section) => ({ get: (name) => host.settings[`${section}.${name}`] }),
        openTextDocument: async (path) => ({ path, text: fs.readFileSync(path, "utf8") }),
        onDidSaveTextDocument: (action) => ((host.save = (path) => action({ uri: uriOf(path) })), {
          dispose: () => {},
        }),
        onDidChangeWorkspaceFolders: () => ({ dispose: () => {} }),
      },
    };
  }

  activate() {
    const load = Module._load;
    delete require.cache[require.resolve("../extension.js")];
    Module._load = (name, ...others) => (name === "vscode" ? this.api : load(name, ...others));
    try {
      require("../extension.js").activate(this);
    } finally {
      Module._load = load;
    }
  }

  deactivate() {
    for (const each of this.subscriptions) each.dispose();
  }
}

function uriOf(path) {
  return { scheme: "file", fsPath: path };
}

// Wait until something holds, which the test's own limit of time ends.
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

module.exports = { Host, until };
