/** In a page that was opened from disk, browsers load no workers. */

import { type Box, type Layout, layout } from "./layout";

export function place(
  boxes: Box[],
  edges: [string, string][],
  onDone: (placed: Layout) => void,
): () => void {
  // The text above the graph is to be on the screen first.
  const timer = setTimeout(() => onDone(layout(boxes, edges)), 50);
  return () => clearTimeout(timer);
}
