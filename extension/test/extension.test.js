"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { after, test } = require("node:test");
const manifest = require("../package.json");
const { Host, until } = require("./host.js");

const MINUTES = 60_000;
const places = [];
after(() => places.forEach((root) => fs.rmSync(root, { recursive: true, force: true })));

// A directory with a document, and a program in it that notes its arguments and answers as `memory`
// does. The test with the real one is below.
function place() {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "extension-")));
  places.push(root);
  const hit = {
    text: "## Berths\n\n  Ships wait.",
    metadata: {
      section_heading: "Berths", file_path: "harbor.md", line_start: 3, line_end: 5,
      source_root: root,
    },
  };
  const workspaces = [
    { name: "harbor", root, documents: 1, chunks: 1234 },
    { name: "other", root: "/elsewhere", documents: 9, chunks: 9 },
  ];
  fs.writeFileSync(path.join(root, "harbor.md"), "# Harbor\n\n## Berths\n\nShips wait.\n");
  fs.writeFileSync(path.join(root, "workspaces.json"), JSON.stringify({ workspaces }));
  fs.writeFileSync(path.join(root, "search.json"), JSON.stringify({ hits: [hit] }));
  const program = path.join(root, "program");
  fs.writeFileSync(
    program,
    `#!/bin/sh
cd '${root}'
printf '%s|' "$MEMORY_DATA_DIR" "$@" >> asked; echo >> asked
case "$*" in
  *--watch) echo Watching; exec tail -f /dev/null ;;
  *--full) echo broken >&2; exit 1 ;;
  workspaces*) cat workspaces.json ;;
  search*) cat search.json ;;
esac
`,
    { mode: 0o755 },
  );
  const asked = () => {
    const file = path.join(root, "asked");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : [];
  };
  return { root, program, asked };
}

async function withHost(settings, roots, action) {
  const host = new Host(settings, roots);
  host.activate();
  try {
    await action(host);
  } finally {
    host.deactivate();
  }
}

test("every command of the manifest is there, and no other", async () => {
  await withHost({ "memory.watch": false, "memory.program": "true" }, [], (host) => {
    const named = manifest.contributes.commands.map((each) => each.command);
    assert.deepEqual([...host.commands.keys()].sort(), named.sort());
  });
});

test("it watches from the start, and the status bar has the chunks of the open folders",
  { timeout: MINUTES }, async () => {
    const { root, program, asked } = place();
    const settings = { "memory.program": program, "memory.dataDirectory": "/some/where" };
    await withHost(settings, [root], async (host) => {
      await until(() => host.status.text.includes("1,234 chunks"));
      assert.ok(asked().includes(`/some/where|index|${root}|--watch|`));
      assert.equal(host.status.tooltip, "harbor: 1 documents, 1234 chunks");
      await host.save(path.join(root, "harbor.md"));
      assert.ok(!asked().join().includes("--file"), "the watcher sees it");
      host.deactivate();
      await host.save(path.join(root, "harbor.md"));
    });
  });

test("without a watcher a saved file is indexed, unless it is elsewhere or that is switched off",
  { timeout: MINUTES }, async () => {
    const { root, program, asked } = place();
    const settings = { "memory.program": program, "memory.watch": false };
    await withHost(settings, [root], async (host) => {
      const file = path.join(root, "a b; touch injected");
      await host.save(file);
      assert.ok(asked().some((each) => each.endsWith(`|index|--file|${file}|`)));
      assert.match(host.status.text, /1,234 chunks/);
      await host.save(`${root}-other/harbor.md`);
      host.settings["memory.indexOnSave"] = false;
      await host.save(path.join(root, "harbor.md"));
      assert.equal(asked().filter((each) => each.includes("--file")).length, 1);
    });
  });

test("a search lists hits and opens the chosen one at its lines", { timeout: MINUTES }, async () => {
  const { root, program, asked } = place();
  await withHost({ "memory.program": program, "memory.watch": false }, [root], async (host) => {
    host.typed = "--help where do ships wait";
    await host.commands.get("memory.search")();
    const mine = `|-n|10|--project|workspace:harbor|--|${host.typed}|`;
    assert.deepEqual(asked().filter((each) => each.includes("search")).map((each) =>
      each.endsWith(mine)), [true], "its own folders alone");
    assert.equal(host.listed[0].description, "harbor.md:3-5");
    const [[document, { selection }]] = host.opened;
    assert.equal(document.path, path.join(root, "harbor.md"));
    assert.deepEqual([selection.startLine, selection.endLine], [2, 5]);
  });
});

test("a folder that is a link is the directory it leads to, and opens as the link",
  { timeout: MINUTES }, async () => {
    const { root, program, asked } = place();
    const link = `${root}-link`;
    fs.symlinkSync(root, link);
    places.push(link);
    await withHost({ "memory.program": program, "memory.watch": false }, [link], async (host) => {
      await host.save(path.join(link, "harbor.md"));
      assert.ok(asked().some((each) => each.endsWith(`|index|--file|${root}/harbor.md|`)));
      assert.match(host.status.text, /1,234 chunks/);
      host.typed = "ships";
      await host.commands.get("memory.search")();
      assert.equal(host.opened[0][0].path, path.join(link, "harbor.md"));
    });
  });

test("agents in the editor are offered the server, with the settings' variables", async () => {
  const settings = { "memory.watch": false, "memory.program": "/opt/memory" };
  settings["memory.embedder"] = "none";
  await withHost(settings, [], (host) => {
    const [server] = host.servers();
    assert.deepEqual([server.command, server.args], ["/opt/memory", ["mcp"]]);
    assert.deepEqual(server.env, { MEMORY_EMBEDDER: "none" });
    const [{ id }] = manifest.contributes.mcpServerDefinitionProviders;
    assert.equal(id, "memory.server");
  });
});

test("a failure is shown, and so is a program that is not there", { timeout: MINUTES }, async () => {
  const { root, program } = place();
  await withHost({ "memory.program": program, "memory.watch": false }, [root], async (host) => {
    await host.commands.get("memory.reindex")();
    assert.deepEqual(host.errors, ["broken"]);
    assert.equal(host.status.tooltip, "broken");
  });
  await withHost({ "memory.program": path.join(root, "none") }, [root], async (host) => {
    await until(() => host.status.text.includes("$(warning)"));
    assert.match(host.status.tooltip, /ENOENT/);
  });
});

test("with the real program a save is found",
  { timeout: 10 * MINUTES, skip: !process.env.MEMORY_PROGRAM && "MEMORY_PROGRAM is not set" },
  async () => {
    const { root } = place();
    const settings = { "memory.program": process.env.MEMORY_PROGRAM };
    await withHost(settings, [root], async (host) => {
      await until(() => /[1-9]\d* chunks/.test(host.status.text));
      fs.appendFileSync(path.join(root, "harbor.md"), "\nTugs tow quinquiremes.\n");
      host.typed = "quinquiremes";
      const found = () => host.listed.some((each) => each.detail.includes("quinquiremes"));
      while (!found()) await host.commands.get("memory.search")();
      assert.equal(host.listed[0].description.split(":")[0], "harbor.md");
    });
  });
