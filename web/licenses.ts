/** A check of the build: the release lists the licences of the `dependencies` of package.json. */

import type { Plugin } from "vite";
import lock from "./package-lock.json" with { type: "json" };

type Lock = Record<string, { dev?: boolean }>;

/** Returns the packages of modules that are no dependency, or one of development only. */
export function unlisted(modules: Iterable<string>, packages: Lock): string[] {
  const found = new Set<string>();
  for (const id of modules) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
    const entry = name && packages[`node_modules/${name}`];
    if (name && (!entry || entry.dev)) found.add(name);
  }
  return [...found].sort();
}

/** Fails the build if a package is bundled whose licence the release does not list. */
export function checkLicenses(): Plugin {
  return {
    name: "check-licenses",
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((each) => each.type === "chunk");
      const modules = chunks.flatMap((chunk) => chunk.moduleIds);
      const names = unlisted(modules, lock.packages as Lock);
      if (names.length > 0)
        this.error(`expected "dependencies" of package.json to name ${names.join(", ")}`);
    },
  };
}
