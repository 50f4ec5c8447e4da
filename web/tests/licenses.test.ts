import { expect, test } from "vitest";
import { unlisted } from "../licenses";

test("bundled packages have to be dependencies of the page", () => {
  const lock = {
    "node_modules/react": {},
    "node_modules/@a/b": {},
    "node_modules/vitest": { dev: true },
  };
  const module = (name: string) => `/x/node_modules/${name}/index.js`;
  const own = "/x/src/main.tsx";
  expect(unlisted([own, module("react"), module("@a/b")], lock)).toEqual([]);
  const nested = "/x/node_modules/react/node_modules/other/index.js";
  expect(unlisted([module("vitest"), module("@a/c"), nested], lock)).toEqual([
    "@a/c",
    "other",
    "vitest",
  ]);
});
