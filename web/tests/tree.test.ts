import { expect, test } from "vitest";
import { formatLink, parseLink, splitActions } from "../src/link";
import type { Step } from "../src/messages";
import { branch, idOf, knownLength, newTree, ROOT, rowsOf, withSteps } from "../src/tree";

function step(action: string, instructions: number): Step {
  return {
    action,
    changed: true,
    instructions,
    functions_changed: [],
    functions_added: [],
    functions_removed: [],
  };
}

test("branches share their beginning", () => {
  let tree = withSteps(newTree(9), [], [step("a", 8), step("b", 7)]);
  tree = withSteps(tree, ["a"], [step("c", 6)]);
  tree = withSteps(tree, ["a"], [step("b", 7)]);
  expect(tree[idOf(["a"])]?.children).toEqual(["a,b", "a,c"]);
  expect(branch(tree, "a,c").map((node) => node.instructions)).toEqual([9, 8, 6]);
  expect(knownLength(tree, ["a", "c", "x", "y"])).toBe(2);
  expect(rowsOf(tree).map((row) => [row.node.id, row.depth])).toEqual([
    [ROOT, 0],
    ["a", 0],
    ["a,c", 1],
    ["a,b", 0],
  ]);
});

test("steps without their start are an error", () => {
  expect(() => withSteps(newTree(9), ["a"], [step("b", 7)])).toThrow("no node a");
});

test("actions are split outside of brackets", () => {
  expect(splitActions("globaldce,function(a<b;c>,d),x")).toEqual([
    "globaldce",
    "function(a<b;c>,d)",
    "x",
  ]);
  expect(splitActions("")).toEqual([]);
});

test("links come back as they were", async () => {
  const source = { language: "c++" as const, text: "int f() { return 'ü'; }\n", flags: "-DX" };
  for (const link of [
    { name: "sha256", source: null, actions: ["function(sroa)", "globaldce"] },
    { name: null, source, actions: [] },
  ])
    expect(await parseLink(await formatLink(link))).toEqual(link);
  await expect(parseLink("#source=%%%")).rejects.toThrow("damaged");
});
