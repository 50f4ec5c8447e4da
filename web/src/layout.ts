/** Places of the nodes and edges of a graph. */

import * as dagre from "@dagrejs/dagre";

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  boxes: (Box & { x: number; y: number })[];
  edges: { from: string; to: string; path: string; isBack: boolean }[];
}

const MARGIN = 12;

/** Lays a graph out in layers, from the top down. `x` and `y` are the upper left corners. */
export function layout(boxes: readonly Box[], edges: readonly [string, string][]): Layout {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({
    nodesep: 18,
    ranksep: 34,
    marginx: MARGIN,
    marginy: MARGIN,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    boxes: boxes.map((box) => {
      const { x, y } = graph.node(box.id) as { x: number; y: number };
      return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
    }),
    edges: graph.edges().map((edge) => {
      const { points } = graph.edge(edge) as unknown as { points: { x: number; y: number }[] };
      const isBack = (points.at(-1)?.y ?? 0) < (points[0]?.y ?? 0);
      return { from: edge.v, to: edge.w, path: smooth(points), isBack };
    }),
  };
}

/** Returns a path with rounded bends. */
function smooth(points: readonly { x: number; y: number }[]): string {
  const at = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)},${y.toFixed(1)}`;
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${at(first)}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    if (!next) path += `L${at(point)}`;
    else path += `Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return path;
}
