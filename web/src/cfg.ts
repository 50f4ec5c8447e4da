/** Graphs of textual IR: the blocks of a function, and the calls between functions. */

import { compareFunctions, partsOf } from "./ir";

export type Mark = "same" | "changed" | "added" | "removed";

export interface Block {
  id: string;
  /** The instructions, without the label. */
  lines: string[];
  /** The blocks that may be next. */
  next: string[];
}

export interface Graph {
  nodes: { id: string; title: string; lines: string[]; mark: Mark }[];
  edges: [string, string][];
}

const LABEL = /^("[^"]*"|[\w.$-]+):/;
const TARGET = /\blabel %("[^"]*"|[\w.$-]+)/g;
const CALL = /\b(?:call|invoke|callbr)\b[^@"]*@("[^"]*"|[\w.$-]+)\(/;
const ENTRY = "entry";

/** Returns the blocks of a function, given its lines from "define" to "}". */
export function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let block: Block = { id: ENTRY, lines: [], next: [] };
  for (const line of lines.slice(1)) {
    const label = LABEL.exec(line)?.[1];
    if (label !== undefined) {
      if (block.lines.length > 0) blocks.push(block);
      block = { id: label, lines: [], next: [] };
    } else if (line !== "" && line !== "}") {
      block.lines.push(line);
      for (const [, target] of line.matchAll(TARGET))
        if (target && !block.next.includes(target)) block.next.push(target);
    }
  }
  if (block.lines.length > 0) blocks.push(block);
  return blocks;
}

interface Count {
  lines: number;
  differing: number;
  partner?: string;
}

/** Returns how the blocks of two versions of a function differ. */
export function markBlocks(
  before: readonly string[],
  after: readonly string[],
): { before: Map<string, Mark>; after: Map<string, Mark> } {
  const old = new Map<string, Count>([[ENTRY, { lines: 0, differing: 0, partner: ENTRY }]]);
  const now = new Map<string, Count>([[ENTRY, { lines: 0, differing: 0, partner: ENTRY }]]);
  const count = (counts: Map<string, Count>, id: string, differs: boolean) => {
    const entry = counts.get(id) ?? { lines: 0, differing: 0 };
    counts.set(id, entry);
    entry.lines++;
    if (differs) entry.differing++;
  };
  let [oldId, nowId] = [ENTRY, ENTRY];
  for (const line of compareFunctions(before, after)) {
    const oldLabel = LABEL.exec(line.before ?? "")?.[1];
    const nowLabel = LABEL.exec(line.after ?? "")?.[1];
    if (oldLabel) old.set(oldLabel, { lines: 0, differing: 0, partner: nowLabel });
    if (nowLabel) now.set(nowLabel, { lines: 0, differing: 0, partner: oldLabel });
    oldId = oldLabel ?? oldId;
    nowId = nowLabel ?? nowId;
    const isCode = (text: string | undefined) => text?.startsWith("  ") === true;
    if (isCode(line.before)) count(old, oldId, line.kind !== "same");
    if (isCode(line.after)) count(now, nowId, line.kind !== "same");
  }
  return { before: marks(old, now, "removed"), after: marks(now, old, "added") };
}

function marks(counts: Map<string, Count>, others: Map<string, Count>, all: Mark) {
  const result = new Map<string, Mark>();
  for (const [id, { lines, differing, partner }] of counts) {
    const other = partner === undefined ? undefined : others.get(partner);
    if (lines === differing && !other) result.set(id, all);
    else result.set(id, differing > 0 || (other?.differing ?? 0) > 0 ? "changed" : "same");
  }
  return result;
}

/** Returns the control-flow graph of a function, with the marks of its blocks. */
export function flowGraph(lines: readonly string[], marked: ReadonlyMap<string, Mark>): Graph {
  const blocks = blocksOf(lines);
  const known = new Set(blocks.map((block) => block.id));
  return {
    nodes: blocks.map((block) => ({
      id: block.id,
      title: block.id === ENTRY ? ENTRY : `%${block.id}`,
      lines: block.lines.map((line) => line.trim()),
      mark: marked.get(block.id) ?? "same",
    })),
    edges: blocks.flatMap((block) =>
      block.next.filter((id) => known.has(id)).map((id): [string, string] => [block.id, id]),
    ),
  };
}

/** Returns the graph of the calls between the functions of a program, without intrinsics. */
export function callGraph(ir: string, other: string | null, all: Mark): Graph {
  const parts = partsOf(ir).filter((part) => part.name);
  const former = new Map(partsOf(other ?? "").map((part) => [part.name, part.lines]));
  const known = new Set(parts.map((part) => part.name));
  const external = new Set<string>();
  const edges: [string, string][] = [];
  const nodes = parts.map((part) => {
    for (const callee of new Set(part.lines.flatMap((line) => CALL.exec(line)?.[1] ?? []))) {
      if (callee.startsWith("llvm.")) continue;
      if (!known.has(callee)) external.add(callee);
      edges.push([part.name, callee]);
    }
    return { id: part.name, title: part.name, lines: [], mark: markOf(part.lines, part.name) };
  });
  function markOf(lines: string[], name: string): Mark {
    const old = former.get(name);
    if (other === null) return "same";
    if (!old) return all;
    return compareFunctions(old, lines).some((line) => line.kind !== "same") ? "changed" : "same";
  }
  for (const name of external) nodes.push({ id: name, title: name, lines: [], mark: "same" });
  return { nodes, edges };
}
