/** Answers of the server about states, which are kept while a program is open. */

import { useEffect, useState } from "react";
import { call, RequestError } from "./api";
import type { Program } from "./messages";
import type { Node } from "./tree";

const MAX_KEPT = 100;
const kept = new Map<string, unknown>();

/** Makes a request about a program, which is sent again if the server does not know it. */
export async function ask<T>(of: Program, name: string, body: object, signal?: AbortSignal) {
  try {
    return await call<T>(name, body, signal);
  } catch (problem) {
    if (!(problem instanceof RequestError) || problem.problem.kind !== "unknown program")
      throw problem;
    await call("program", of.source ? { source: of.source } : { name: of.name });
    return await call<T>(name, body, signal);
  }
}

/** Returns an answer about a state, or undefined while it is not there, and the error if any. */
export function useAnswer<T>(program: Program, name: string, node: Node | undefined) {
  const key = node ? `${name} ${program.id} ${node.id}` : "";
  const [, setCount] = useState(0);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    setError(null);
    if (!node || kept.has(key)) return;
    const control = new AbortController();
    const body = { program: program.id, actions: node.actions };
    ask<T>(program, name, body, control.signal).then(
      (found) => {
        kept.set(key, found);
        const oldest = kept.keys().next().value;
        if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
        setCount((count) => count + 1);
      },
      (problem) => control.signal.aborted || setError(problem.message),
    );
    return () => control.abort();
  }, [program, name, node, key]);
  return { value: kept.get(key) as T | undefined, error };
}
