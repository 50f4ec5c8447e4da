import { describe, expect, test } from "vitest";
import { blame, compare, compareFunctions, partsOf } from "../src/ir";

const F = ["define i32 @f(i32 %0) {", "  %2 = alloca i32", "  store i32 %0, ptr %2"];
const BEFORE = [...F, "  %3 = load i32, ptr %2", "  ret i32 %3", "}"].join("\n");
const AFTER = ["define i32 @f(i32 %0) {", "  ret i32 %0", "}"].join("\n");
const G = "define void @g() {\n  ret void\n}";

describe("IR", () => {
  test("is split into functions", () => {
    const parts = partsOf(`@x = global i32 1\n\n${AFTER}\n\n${G}\n`);
    expect(parts.map((part) => part.name)).toEqual(["", "f", "g"]);
  });

  test("values with new numbers are the same", () => {
    const lines = compareFunctions(
      ["define i32 @f() {", "  %1 = call i32 @a()", "  %2 = call i32 @b()", "  ret i32 %2", "}"],
      ["define i32 @f() {", "  %1 = call i32 @b()", "  ret i32 %1", "}"],
    );
    expect(lines.map((line) => line.kind)).toEqual(["same", "removed", "same", "same", "same"]);
  });

  test("another operand is a change", () => {
    const lines = compareFunctions(
      ["define i32 @f(i32 %0, i32 %1) {", "  ret i32 %0", "}"],
      ["define i32 @f(i32 %0, i32 %1) {", "  ret i32 %1", "}"],
    );
    expect(lines.map((line) => line.kind)).toEqual(["same", "operands", "same"]);
  });

  test("unchanged functions are folded until they are opened", () => {
    const folded = compare(`${BEFORE}\n${G}`, `${AFTER}\n${G}`, new Set());
    expect(folded.changed).toEqual(["f"]);
    expect(folded.lines.at(-1)).toMatchObject({ kind: "fold", name: "g" });
    const opened = compare(`${BEFORE}\n${G}`, `${AFTER}\n${G}`, new Set(["g"]));
    expect(opened.lines.at(-1)).toMatchObject({ kind: "same", after: "}", name: "g" });
  });

  test("removed functions are shown", () => {
    const found = compare(`${BEFORE}\n${G}`, BEFORE, new Set());
    expect(found.changed).toEqual(["g"]);
    expect(found.lines.at(-1)).toMatchObject({ kind: "removed", before: "}" });
  });

  test("lines with the same opcode are put beside each other", () => {
    const lines = compareFunctions(
      ["define i32 @f(i32 %0) {", "  %2 = mul i32 %0, 2", "  ret i32 %2", "}"],
      ["define i32 @f(i32 %0) {", "  %2 = shl i32 %0, 1", "  %3 = mul i32 %2, 3", "}"],
    );
    expect(lines.map(({ kind, after }) => [kind, after?.split(" = ")[1]])).toContainEqual([
      "changed",
      "mul i32 %2, 3",
    ]);
  });

  test("blame names the steps that touched a line", () => {
    const inlined = BEFORE.replace("  ret", "  %4 = add i32 %3, 1\n  ret").replace(
      "ret i32 %3",
      "ret i32 %4",
    );
    expect(blame([BEFORE, inlined]).get("f")).toEqual([[0], [0], [0], [0], [1], [0, 1], [0]]);
    expect(blame([BEFORE, inlined, AFTER]).get("f")).toEqual([[0], [0, 1, 2], [0]]);
    expect(blame([BEFORE, `${BEFORE}\n${G}`]).get("g")).toEqual([[1], [1], [1]]);
  });
});
