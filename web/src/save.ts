/** Files that the page makes for its user. */

import { ask } from "./answers";
import { call } from "./api";
import { pack } from "./link";
import type { Info, Path, Program } from "./messages";
import { ELEMENT, type Recording } from "./recording";
import type { Node } from "./tree";

const RECORDED = ["metrics", "code", "lines", "remarks", "export"];

/** Saves a branch as a page that opens from disk. */
export async function savePage(program: Program, nodes: readonly Node[]): Promise<void> {
  const answers: Record<string, unknown[]> = {};
  const irs: string[] = [];
  for (const { actions } of nodes) {
    const state = { program: program.id, actions };
    const found = await ask<Path>(program, "path", { ...state, first: actions.length });
    irs.push(found.ir);
    for (const name of RECORDED) {
      answers[name] ??= [];
      answers[name].push(await ask(program, name, state));
    }
  }
  const recorded: Recording = {
    info: await call<Info>("info"),
    program,
    steps: nodes.flatMap((node) => node.step ?? []),
    irs,
    answers,
  };
  const text = async (name: string) => (await fetch(name)).text();
  const [script, style] = [await text("assets/offline.js"), await text("assets/index.css")];
  const page = [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    "<title>CompilerGym explorer: a saved branch</title>",
    `<style>${style}</style></head><body><div id="root"></div>`,
    `<script type="text/plain" id="${ELEMENT}">${await pack(JSON.stringify(recorded))}</script>`,
    `<script>${script.replaceAll("</script", "<\\/script")}</script></body></html>`,
  ].join("\n");
  download(page, `${program.name}.html`, "text/html");
}

/** Saves a text as a file of the browser's. */
export function download(text: string, name: string, type = "text/plain") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
