/** Textual IR: its functions, and the lines that differ between two versions of a program. */

import { diffArrays } from "diff";

export interface Part {
  /** The function's name, or "" for what is between functions. */
  name: string;
  lines: string[];
}

export type Kind = "same" | "operands" | "changed" | "removed" | "added";

/** Lines side by side; undefined where there is none. */
export interface Line {
  kind: Kind | "fold" | "head";
  before?: string;
  after?: string;
  /** The function that the line belongs to, or "". */
  name: string;
  /** The number of the line in the IR after, from 1 on. */
  number?: number;
}

const FUNCTION = /^define [^@]*@("[^"]*"|[^(]*)\(/;
const VALUE = /(?<![\w.])%\d+|^\d+(?=:)/g;
const NODE = /[!#]\d+\b/g;
const DEFINITION = /^ {2}(%\d+) =|^(\d+):/;
const OPCODE = /^ {2}(?:%[\w.]+ = )?((?:tail |musttail |notail )?[a-z]+)/;
const MAX_PAIRED = 300;
// Comparing takes time by the lines and the changes; beyond, a function counts as replaced.
const MAX_CHANGES = 2000;

export function partsOf(ir: string): Part[] {
  const parts: Part[] = [];
  let part: Part = { name: "", lines: [] };
  for (const line of ir.split("\n")) {
    const found = FUNCTION.exec(line);
    if (found) {
      parts.push(part);
      part = { name: found[1] ?? "", lines: [] };
    }
    part.lines.push(line);
    if (part.name && line === "}") {
      parts.push(part);
      part = { name: "", lines: [] };
    }
  }
  parts.push(part);
  return parts.filter((each) => each.name || each.lines.some((line) => line !== ""));
}

/** Returns a line without what a pass renumbers: values, metadata, groups of attributes. */
function masked(line: string): string {
  const end = line.indexOf("; preds =");
  return (end < 0 ? line : line.slice(0, end)).replace(VALUE, "%").replace(NODE, "!").trimEnd();
}

/** Returns the lines of two versions of a function side by side. */
export function compareFunctions(before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  const changes = diffArrays(before.map(masked), after.map(masked), {
    maxEditLength: MAX_CHANGES,
  }) ?? [
    { value: before, count: before.length, removed: true, added: false },
    { value: after, count: after.length, removed: false, added: true },
  ];
  let old = 0;
  let now = 0;
  for (const change of changes) {
    for (let i = 0; i < change.value.length; i++) {
      if (change.removed) lines.push({ kind: "removed", before: before[old++], name: "" });
      else if (change.added) lines.push({ kind: "added", after: after[now++], name: "" });
      else lines.push({ kind: "same", before: before[old++], after: after[now++], name: "" });
    }
  }
  markOperands(lines);
  return paired(lines);
}

/** Marks the lines that are the same but for operands that are not those of before. */
function markOperands(lines: Line[]): void {
  const numbers = new Map<string, string>();
  for (const { kind, before, after } of lines) {
    if (kind !== "same" || before === undefined || after === undefined) continue;
    if (before.startsWith("define ")) {
      const [old, now] = [before.match(VALUE) ?? [], after.match(VALUE) ?? []];
      for (const [i, value] of old.entries()) numbers.set(value, now[i] ?? "");
      // The first block has the next number, and no label.
      numbers.set(`%${old.length}`, `%${now.length}`);
    }
    const [old, now] = [DEFINITION.exec(before), DEFINITION.exec(after)];
    if (old && now) numbers.set(old[1] ?? `%${old[2]}`, now[1] ?? `%${now[2]}`);
  }
  for (const line of lines) {
    if (line.kind !== "same" || line.before === line.after) continue;
    const old = (line.before?.split("; preds")[0] ?? "").match(VALUE) ?? [];
    const now = (line.after?.split("; preds")[0] ?? "").match(VALUE) ?? [];
    const name = (value: string) => (value.startsWith("%") ? value : `%${value}`);
    if (old.some((value, i) => numbers.get(name(value)) !== name(now[i] ?? "")))
      line.kind = "operands";
  }
}

/** Puts removed lines beside the added ones that follow them, first those that do the same. */
function paired(lines: readonly Line[]): Line[] {
  const result: Line[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    const changes = diffArrays(removed.map(opcodeOf), added.map(opcodeOf), {
      maxEditLength: MAX_PAIRED,
    }) ?? [
      { value: removed, removed: true, added: false },
      { value: added, removed: false, added: true },
    ];
    let [old, now] = [0, 0];
    const left = { removed: [] as string[], added: [] as string[] };
    const flushLeft = () => {
      for (let i = 0; i < Math.max(left.removed.length, left.added.length); i++)
        result.push(pairOf(left.removed[i], left.added[i]));
      left.removed = [];
      left.added = [];
    };
    for (const change of changes) {
      const count = change.value.length;
      if (change.removed) left.removed.push(...removed.slice(old, old + count));
      else if (change.added) left.added.push(...added.slice(now, now + count));
      else {
        flushLeft();
        for (let i = 0; i < count; i++) result.push(pairOf(removed[old + i], added[now + i]));
      }
      if (!change.added) old += count;
      if (!change.removed) now += count;
    }
    flushLeft();
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed" && line.before !== undefined) removed.push(line.before);
    else if (line.kind === "added" && line.after !== undefined) added.push(line.after);
    else {
      flush();
      result.push(line);
    }
  }
  flush();
  return result;
}

function pairOf(before: string | undefined, after: string | undefined): Line {
  const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return { kind, before, after, name: "" };
}

/** Returns the opcode of an instruction, or the whole line of something else. */
function opcodeOf(line: string): string {
  return OPCODE.exec(line)?.[1] ?? line;
}

export interface Difference {
  lines: Line[];
  /** The names of functions that differ. */
  changed: string[];
}

/**
 * Returns two versions of a program side by side.
 *
 * A function that is the same in both is a line "fold", unless it is in `open`.
 */
export function compare(before: string, after: string, open: ReadonlySet<string>): Difference {
  const lines: Line[] = [];
  const changed: string[] = [];
  const old = new Map(partsOf(before).map((part) => [part.name || `#${part.lines[0]}`, part]));
  const now = partsOf(after);
  const seen = new Set(now.map((part) => part.name));
  for (const part of now) {
    const former = old.get(part.name || `#${part.lines[0]}`);
    if (!part.name) {
      if (before === "" || open.has("")) add(lines, part, part.lines);
      continue;
    }
    if (former && !open.has(part.name) && isEqual(former.lines, part.lines)) {
      lines.push(fold(part));
      continue;
    }
    const made = compareFunctions(former?.lines ?? [], part.lines);
    const differs = made.some((line) => line.kind !== "same");
    if (differs) changed.push(part.name);
    if (differs || open.has(part.name)) addLines(lines, part.name, made, differs);
    else lines.push(fold(part));
  }
  for (const part of old.values()) {
    if (!part.name || seen.has(part.name)) continue;
    changed.push(part.name);
    addLines(lines, part.name, compareFunctions(part.lines, []), true);
  }
  return { lines, changed };
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, i) => line === other[i]);
}

/** Returns a program as lines: its functions, and on request what is between them. */
export function plainLines(ir: string, withGlobals: boolean): Line[] {
  const lines: Line[] = [];
  for (const part of partsOf(ir)) if (part.name || withGlobals) add(lines, part, part.lines);
  return lines;
}

function add(lines: Line[], part: Part, texts: readonly string[]): void {
  for (const text of texts)
    lines.push({ kind: "same", before: text, after: text, name: part.name });
}

function addLines(lines: Line[], name: string, made: Line[], differs: boolean): void {
  lines.push({ kind: "head", name, after: differs ? "changed" : "unchanged" });
  for (const line of made) lines.push({ ...line, name });
}

function fold(part: Part): Line {
  const count = part.lines.filter((line) => line.startsWith("  ")).length;
  return { kind: "fold", name: part.name, after: `${count} instructions, unchanged` };
}

/** By function, the steps that touched each line: the first made it; 0 is the program. */
export type Blame = Map<string, number[][]>;

/**
 * Returns the steps that touched each line of each function.
 *
 * @param versions The IR after each step of a branch, the program itself first.
 */
export function blame(versions: readonly string[]): Blame {
  let known: Blame = new Map();
  let former = new Map<string, string[]>();
  versions.forEach((ir, step) => {
    const parts = partsOf(ir).filter((part) => part.name);
    const next: Blame = new Map();
    for (const part of parts) {
      const old = former.get(part.name);
      const chains = known.get(part.name);
      if (old && chains) next.set(part.name, followed(old, part.lines, chains, step));
      else
        next.set(
          part.name,
          part.lines.map(() => [step]),
        );
    }
    known = next;
    former = new Map(parts.map((part) => [part.name, part.lines]));
  });
  return known;
}

/** Returns the steps of each line of a function, given those of its version before a step. */
function followed(
  before: readonly string[],
  after: readonly string[],
  chains: readonly number[][],
  step: number,
): number[][] {
  const made: number[][] = [];
  let index = 0;
  for (const line of compareFunctions(before, after)) {
    const chain = line.before === undefined ? undefined : chains[index++];
    if (line.after === undefined) continue;
    const isSame = line.kind === "same";
    // A line that stands for another one is the same instruction if it does the same.
    const goesOn = line.before !== undefined && opcodeOf(line.before) === opcodeOf(line.after);
    if (chain && isSame) made.push(chain);
    else made.push(chain && goesOn ? [...chain, step] : [step]);
  }
  return made;
}
