import { expect, test } from "vitest";
import { blocksOf, callGraph, flowGraph, markBlocks } from "../src/cfg";
import { layout } from "../src/layout";

const LOOP = `define i32 @f(i32 %0) {
  br label %2

2:                                                ; preds = %2, %1
  %3 = phi i32 [ %0, %1 ], [ %4, %2 ]
  %4 = add i32 %3, 1
  %5 = icmp eq i32 %4, 9
  switch i32 %4, label %6 [
    i32 1, label %2
    i32 2, label %8
  ]

6:                                                ; preds = %2
  %7 = call i32 @g(i32 %4)
  ret i32 %7

8:                                                ; preds = %2
  unreachable
}`;
const lines = LOOP.split("\n");

test("blocks and their successors", () => {
  expect(blocksOf(lines).map((block) => [block.id, block.lines.length, block.next])).toEqual([
    ["entry", 1, ["2"]],
    ["2", 7, ["6", "2", "8"]],
    ["6", 2, []],
    ["8", 1, []],
  ]);
  expect(flowGraph(lines, new Map()).edges).toEqual([
    ["entry", "2"],
    ["2", "6"],
    ["2", "2"],
    ["2", "8"],
  ]);
});

test("changed, removed and new blocks are marked", () => {
  const without = LOOP.replace("    i32 2, label %8\n", "")
    .replace(/\n8:[\s\S]*unreachable\n/, "")
    .split("\n");
  const marks = markBlocks(lines, without);
  expect([...marks.before]).toEqual([
    ["entry", "same"],
    ["2", "changed"],
    ["6", "same"],
    ["8", "removed"],
  ]);
  expect(marks.after.get("2")).toBe("changed");
  expect(markBlocks(without, lines).after.get("8")).toBe("added");
  expect([...markBlocks(lines, lines).after.values()]).toEqual(["same", "same", "same", "same"]);
});

test("calls between functions", () => {
  const g = "define i32 @g(i32 %0) {\n  ret i32 %0\n}";
  const h = "define void @h() {\n  ret void\n}";
  const graph = callGraph(`${LOOP}\n${g}`, `${LOOP}\n${g.replace("%0\n", "1\n")}\n${h}`, "added");
  expect(graph.edges).toEqual([["f", "g"]]);
  expect(graph.nodes.map((node) => [node.id, node.mark])).toEqual([
    ["f", "same"],
    ["g", "changed"],
  ]);
  const before = callGraph(`${LOOP}\n${h}`, LOOP, "removed");
  expect(before.nodes.map((node) => [node.id, node.mark])).toEqual([
    ["f", "same"],
    ["h", "removed"],
    ["g", "same"],
  ]);
});

test("100 blocks are placed without overlaps", () => {
  const boxes = Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, width: 60, height: 22 }));
  const edges = boxes.flatMap((_, i): [string, string][] => [
    ...(i < 99 ? [[`${i}`, `${i + 1}`] as [string, string]] : []),
    ...(i % 3 === 0 && i < 90 ? [[`${i}`, `${i + 7}`] as [string, string]] : []),
    ...(i % 50 === 49 ? [[`${i}`, `${i - 40}`] as [string, string]] : []),
  ]);
  const placed = layout(boxes, edges);
  expect(placed.edges.length).toBe(edges.length);
  expect(placed.edges.filter((edge) => edge.isBack).length).toBe(2);
  const overlaps = placed.boxes.filter((a, i) =>
    placed.boxes.slice(i + 1).some((b) => Math.abs(a.x - b.x) < 60 && Math.abs(a.y - b.y) < 22),
  );
  expect(overlaps).toEqual([]);
});
