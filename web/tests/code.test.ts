import { expect, test } from "vitest";
import { compareCode, sizesOf } from "../src/code";

test("instructions side by side, whatever their targets", () => {
  const before = ["push rax", "je .+9", "mov eax, 1", "ret"];
  const after = ["je .+5", "xor eax, eax", "nop", "ret"];
  expect(compareCode(before, after)).toEqual([
    { kind: "removed", before: 0 },
    { kind: "same", before: 1, after: 0 },
    { kind: "changed", before: 2, after: 1 },
    { kind: "added", after: 2 },
    { kind: "same", before: 3, after: 3 },
  ]);
});

test("functions are sorted by their size", () => {
  const code = (name: string, bytes: number) => ({ name, bytes, offsets: [], texts: [] });
  expect(sizesOf([code("a", 9), code("b", 20)], [code("a", 7), code("c", 8)])).toEqual([
    { name: "b", before: 20, after: undefined },
    { name: "c", before: undefined, after: 8 },
    { name: "a", before: 9, after: 7 },
  ]);
});
