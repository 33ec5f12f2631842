"use strict";

// Keeps a workspace indexed by the program `memory`, shows how many chunks it has, and searches it.
// All work is the program's: this starts it, and shows what it says.

const { execFile, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const LEAST_WAIT_MS = 500; // of several events at once, one reading of the number of chunks

class Memory {
  constructor() {
    this.output = vscode.window.createOutputChannel("Memory");
    this.status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left);
    this.status.command = "memory.search";
    this.watchers = new Map(); // by directory
    this.saves = Promise.resolve();
  }

  setting(name) {
    return vscode.workspace.getConfiguration("memory").get(name);
  }

  // The open folders as the editor names them, by their directories with links resolved, which are
  // what the program has on record.
  folders() {
    const folders = (vscode.workspace.workspaceFolders || []).map((each) => each.uri);
    const paths = folders.filter((each) => each.scheme === "file").map((each) => each.fsPath);
    return new Map(paths.map((each) => [resolved(each), each]));
  }

  roots() {
    return [...this.folders().keys()];
  }

  // The variables that the settings name.
  variables() {
    const named = { MEMORY_DATA_DIR: "dataDirectory", MEMORY_EMBEDDER: "embedder" };
    const given = Object.entries(named).map(([name, each]) => [name, this.setting(each)]);
    return Object.fromEntries(given.filter(([, value]) => value));
  }

  // The program's environment and directory. Its arguments are never read by a shell.
  options() {
    const env = { ...process.env, ...this.variables() };
    return { cwd: this.roots()[0], env, maxBuffer: 64 * 1024 * 1024 };
  }

  // Run a command to its end; return its standard output, also if it reports a failure.
  run(...parameters) {
    return new Promise((resolve, reject) => {
      const ended = (error, stdout, stderr) => {
        if (stderr) this.output.append(stderr);
        if (error && !stdout) reject(new Error(stderr.trim() || error.message));
        else resolve(stdout);
      };
      execFile(this.setting("program"), parameters, this.options(), ended);
    });
  }

  // Follow each directory in a process of its own. One process follows all workspaces of a data
  // directory: a second one says so, and ends.
  watch() {
    for (const root of this.roots()) {
      if (this.watchers.has(root)) continue;
      const watcher = spawn(this.setting("program"), ["index", root, "--watch"], {
        ...this.options(),
        stdio: ["ignore", "pipe", "pipe"],
      });
      this.watchers.set(root, watcher);
      const said = (data) => {
        this.output.append(data.toString());
        this.countSoon();
      };
      watcher.stdout.on("data", said);
      watcher.stderr.on("data", said);
      watcher.on("error", (error) => {
        this.watchers.delete(root);
        this.failed(error);
      });
      watcher.on("close", (code) => {
        this.watchers.delete(root);
        if (code > 0) this.failed(new Error(`memory index --watch ended with exit code ${code}`));
      });
    }
  }

  stop() {
    clearTimeout(this.timer);
    for (const watcher of this.watchers.values()) watcher.kill();
  }

  countSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.count().catch((error) => this.failed(error)), LEAST_WAIT_MS);
  }

  // What is on record of the open folders.
  async workspaces() {
    const { workspaces } = JSON.parse(await this.run("workspaces", "--json"));
    return workspaces.filter((each) => this.folders().has(resolved(each.root)));
  }

  async count() {
    const shown = await this.workspaces();
    const chunks = shown.reduce((sum, each) => sum + each.chunks, 0);
    this.status.text = `$(database) ${chunks.toLocaleString("en")} chunks`;
    this.status.tooltip = shown
      .map((each) => `${each.name}: ${each.documents} documents, ${each.chunks} chunks`)
      .join("\n");
    this.status.show();
  }

  failed(error) {
    this.output.appendLine(error.message);
    this.status.text = "$(warning) Memory";
    this.status.tooltip = error.message;
    this.status.show();
  }

  // Index a saved file, one after the other, unless a process of ours follows the files.
  saved(document) {
    const file = resolved(document.uri.fsPath);
    const root = this.roots().find((each) => file.startsWith(each + path.sep));
    if (document.uri.scheme !== "file" || !root || !this.setting("indexOnSave")) return this.saves;
    if (this.watchers.has(root)) return this.saves;
    this.saves = this.saves
      .then(() => this.run("index", "--file", file))
      .then(() => this.count())
      .catch((error) => this.failed(error));
    return this.saves;
  }

  async index(...options) {
    const title = "Memory: indexing";
    const location = vscode.ProgressLocation.Window;
    await vscode.window.withProgress({ location, title }, async () => {
      for (const root of this.roots()) this.output.append(await this.run("index", root, ...options));
    });
    await this.count();
  }

  async search() {
    const query = await vscode.window.showInputBox({ prompt: "Search documents and code" });
    if (!query) return;
    const number = this.setting("hits");
    const asked = ["search", "--in", "workspace", "--json", "-n", String(number)];
    const answers = (await this.workspaces()).map(async ({ name }) =>
      JSON.parse(await this.run(...asked, "--project", `workspace:${name}`, "--", query)));
    const hits = (await Promise.all(answers)).flatMap((each) => each.hits);
    const best = hits.sort((one, other) => other.score - one.score).slice(0, number);
    const items = best.map(({ metadata, text }) => ({
      label: metadata.section_heading || metadata.file_path,
      description: `${metadata.file_path}:${metadata.line_start}-${metadata.line_end}`,
      detail: text.replace(/\s+/g, " ").trim().slice(0, 200),
      metadata,
    }));
    const placeHolder = items.length ? undefined : "Nothing answers this";
    const chosen = await vscode.window.showQuickPick(items, { placeHolder, matchOnDetail: true });
    if (chosen) await this.open(chosen.metadata);
  }

  async open({ source_root: root, file_path: file, line_start: first, line_end: last }) {
    const folder = this.folders().get(resolved(root)) || root;
    const document = await vscode.workspace.openTextDocument(path.join(folder, file));
    const selection = new vscode.Range(first - 1, 0, last, 0);
    await vscode.window.showTextDocument(document, { selection });
  }
}

// A path with its links resolved; as it is if nothing is there.
function resolved(file) {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

// Offer the server to agents in the editor (VS Code from 1.101 on).
function offerServer() {
  if (!vscode.lm?.registerMcpServerDefinitionProvider) return { dispose: () => {} };
  const servers = () => {
    const [program, variables] = [memory.setting("program"), memory.variables()];
    return [new vscode.McpStdioServerDefinition("Memory", program, ["mcp"], variables)];
  };
  return vscode.lm.registerMcpServerDefinitionProvider("memory.server", {
    provideMcpServerDefinitions: servers,
  });
}

let memory;

function activate(context) {
  memory = new Memory();
  const shown = (action) => () =>
    action().catch((error) => {
      memory.failed(error);
      return vscode.window.showErrorMessage(error.message);
    });
  const { registerCommand } = vscode.commands;
  context.subscriptions.push(
    memory.output,
    memory.status,
    registerCommand("memory.search", shown(() => memory.search())),
    registerCommand("memory.index", shown(() => memory.index())),
    registerCommand("memory.reindex", shown(() => memory.index("--full"))),
    registerCommand("memory.watch", () => memory.watch()),
    vscode.workspace.onDidSaveTextDocument((document) => memory.saved(document)),
    vscode.workspace.onDidChangeWorkspaceFolders(() => memory.setting("watch") && memory.watch()),
    offerServer(),
    { dispose: () => memory.stop() },
  );
  if (memory.setting("watch")) memory.watch();
  memory.countSoon();
}

function deactivate() {
  if (memory) memory.stop();
}

module.exports = { activate, deactivate };
