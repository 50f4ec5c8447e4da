/** Lays graphs out in a worker, so that the page stays usable meanwhile. */

import type { Box, Layout } from "./layout";

/** Starts to lay a graph out. Returns what ends it early. */
export function place(
  boxes: Box[],
  edges: [string, string][],
  onDone: (placed: Layout) => void,
): () => void {
  const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = (event: MessageEvent<Layout>) => {
    worker.terminate();
    onDone(event.data);
  };
  worker.postMessage([boxes, edges]);
  return () => worker.terminate();
}
