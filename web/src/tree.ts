/** The tree of the states that a person has visited. A node is named by its actions. */

import type { Step } from "./messages";

export interface Node {
  id: string;
  actions: string[];
  parent: string | null;
  children: string[];
  /** What the last action did; null at the root. */
  step: Step | null;
  instructions: number;
}

export type Tree = Record<string, Node>;

export const ROOT = "";

export function idOf(actions: readonly string[]): string {
  return actions.join(",");
}

export function newTree(instructions: number): Tree {
  return {
    [ROOT]: { id: ROOT, actions: [], parent: null, children: [], step: null, instructions },
  };
}

/** Returns a tree with the steps that follow a node, which has to be in it. */
export function withSteps(tree: Tree, start: readonly string[], steps: readonly Step[]): Tree {
  const grown = { ...tree };
  let actions = [...start];
  for (const step of steps) {
    const parent = grown[idOf(actions)];
    if (!parent) throw new Error(`no node ${idOf(actions)}`);
    actions = [...actions, step.action];
    const id = idOf(actions);
    const known = grown[id];
    grown[id] = {
      id,
      actions,
      parent: parent.id,
      children: known?.children ?? [],
      step,
      instructions: step.instructions,
    };
    if (!parent.children.includes(id))
      grown[parent.id] = { ...parent, children: [...parent.children, id] };
  }
  return grown;
}

/** Returns the number of actions at the beginning whose nodes are in the tree. */
export function knownLength(tree: Tree, actions: readonly string[]): number {
  let length = actions.length;
  while (length > 0 && !(idOf(actions.slice(0, length)) in tree)) length--;
  return length;
}

/** Returns the nodes from the root to a node, both included. */
export function branch(tree: Tree, id: string): Node[] {
  const nodes: Node[] = [];
  for (let node = tree[id]; node; node = node.parent === null ? undefined : tree[node.parent])
    nodes.unshift(node);
  return nodes;
}

/** Returns the ends of all branches. */
export function leavesOf(tree: Tree): Node[] {
  return Object.values(tree).filter((node) => node.children.length === 0);
}

/** A line of the drawn tree: a node, and how far it is to the right. */
export interface Row {
  node: Node;
  depth: number;
}

/** Returns the lines of the drawn tree. Only branches move to the right, so that it stays narrow. */
export function rowsOf(tree: Tree): Row[] {
  const rows: Row[] = [];
  const waiting: Row[] = [];
  const root = tree[ROOT];
  if (root) waiting.push({ node: root, depth: 0 });
  for (let row = waiting.pop(); row; row = waiting.pop()) {
    rows.push(row);
    const children = row.node.children.flatMap((id) => tree[id] ?? []);
    // The first child continues its parent's line, below the branches that leave there.
    const [first, ...others] = children;
    if (first) waiting.push({ node: first, depth: row.depth });
    for (const node of others) waiting.push({ node, depth: row.depth + 1 });
  }
  return rows;
}
