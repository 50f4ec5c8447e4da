/** The address of a state: its program and its actions, in the part after the #. */

import type { Source } from "./messages";

const CHUNK = 8192;

export interface Link {
  name: string | null;
  source: Source | null;
  actions: string[];
}

export async function formatLink(link: Link): Promise<string> {
  const fields = new URLSearchParams();
  if (link.source) fields.set("source", await pack(JSON.stringify(link.source)));
  else if (link.name) fields.set("program", link.name);
  if (link.actions.length > 0) fields.set("actions", link.actions.join(","));
  return `#${fields}`;
}

/** Reads an address. Throws an Error if it is damaged. */
export async function parseLink(text: string): Promise<Link> {
  const fields = new URLSearchParams(text.replace(/^#/, ""));
  const packed = fields.get("source");
  let source: Source | null = null;
  if (packed) {
    try {
      source = JSON.parse(await unpack(packed));
    } catch {
      throw new Error("The program in this link is damaged: copy the whole link");
    }
  }
  return {
    name: fields.get("program"),
    source,
    actions: splitActions(fields.get("actions") ?? ""),
  };
}

/** Splits a list of actions at the commas outside of brackets. */
export function splitActions(text: string): string[] {
  const actions: string[] = [];
  let depth = 0;
  let current = "";
  for (const character of text) {
    if ("(<".includes(character)) depth++;
    if (")>".includes(character)) depth--;
    if (character === "," && depth === 0) {
      actions.push(current);
      current = "";
    } else current += character;
  }
  return [...actions, current].filter((action) => action !== "");
}

export async function pack(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let i = 0; i < bytes.length; i += CHUNK)
    binary += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(text: string): Promise<string> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return await new Response(stream).text();
}
