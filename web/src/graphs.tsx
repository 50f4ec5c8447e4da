/** The control-flow graph of a function and the call graph, before and after. */

import { useEffect, useMemo, useRef, useState } from "react";
import { callGraph, flowGraph, type Graph, markBlocks } from "./cfg";
import { partsOf } from "./ir";
import type { Box, Layout } from "./layout";
import { place } from "./place";

const MAX_WITH_TEXT = 60;
const MAX_LINES = 9;
const MAX_CHARACTERS = 46;
const [CHARACTER, LINE] = [6.1, 13];
const MAX_NAMED = 12;

interface Props {
  before: string | null;
  after: string;
  changed: string[];
}

export function GraphPanel({ before, after, changed }: Props) {
  const [kind, setKind] = useState<"flow" | "calls">("flow");
  const [wanted, setWanted] = useState<string | null>(null);
  const old = useMemo(() => functionsOf(before), [before]);
  const now = useMemo(() => functionsOf(after), [after]);
  const names = useMemo(() => [...new Set([...now.keys(), ...old.keys()])].sort(), [now, old]);
  const first = changed.find((name) => now.has(name)) ?? largest(now) ?? names[0] ?? "";
  const name = wanted !== null && names.includes(wanted) ? wanted : first;
  const graphs = useMemo(() => {
    if (kind === "calls")
      return {
        before: before === null ? null : callGraph(before, after, "removed"),
        after: callGraph(after, before, "added"),
      };
    const [former, present] = [old.get(name) ?? [], now.get(name) ?? []];
    const marked = markBlocks(former, present);
    if (before === null) marked.after.clear();
    return {
      before: before === null ? null : flowGraph(former, marked.before),
      after: flowGraph(present, marked.after),
    };
  }, [kind, name, old, now, before, after]);
  const open = (id: string) => {
    if (!names.includes(id)) return;
    setWanted(id);
    setKind("flow");
  };
  const isSame =
    graphs.before?.nodes.every((each) => each.mark === "same") &&
    graphs.after.nodes.every((each) => each.mark === "same");
  return (
    <div className="graphs">
      <p className="row bar">
        <select
          aria-label="Kind of graph"
          value={kind}
          onChange={(event) => setKind(event.target.value as "flow" | "calls")}
        >
          <option value="flow">control flow of</option>
          <option value="calls">calls of the program</option>
        </select>
        {kind === "flow" && (
          <select
            aria-label="Function"
            className="names"
            value={name}
            onChange={(event) => setWanted(event.target.value)}
          >
            {names.map((each) => (
              <option key={each} value={each}>
                {each} {changed.includes(each) ? "•" : ""}
              </option>
            ))}
          </select>
        )}
        <span className="legend">
          <i className="added" /> new <i className="changed" /> changed <i className="removed" />{" "}
          removed
        </span>
      </p>
      <div className="two">
        {graphs.before && !isSame && (
          <GraphView
            key={`before ${kind} ${name}`}
            title="Before"
            graph={graphs.before}
            open={kind === "calls" ? open : undefined}
          />
        )}
        <GraphView
          key={`after ${kind} ${name}`}
          title={isSame ? "Before and after: no difference" : graphs.before ? "After" : "Now"}
          graph={graphs.after}
          open={kind === "calls" ? open : undefined}
        />
      </div>
    </div>
  );
}

function functionsOf(ir: string | null): Map<string, string[]> {
  const parts = partsOf(ir ?? "").filter((part) => part.name);
  return new Map(parts.map((part) => [part.name, part.lines]));
}

function largest(functions: ReadonlyMap<string, string[]>): string | undefined {
  return [...functions].sort((a, b) => b[1].length - a[1].length)[0]?.[0];
}

function boxesOf(graph: Graph): Box[] {
  const withText = graph.nodes.length <= MAX_WITH_TEXT;
  return graph.nodes.map(({ id, title, lines }) => {
    const shown = withText ? lines.slice(0, MAX_LINES) : [];
    const longest = Math.max(title.length + 10, ...shown.map((line) => line.length));
    const rest = withText && lines.length > MAX_LINES ? 1 : 0;
    return {
      id,
      width: 14 + CHARACTER * Math.min(MAX_CHARACTERS, longest),
      height: 22 + LINE * (shown.length + rest) + (shown.length > 0 ? 6 : 0),
    };
  });
}

interface ViewProps {
  title: string;
  graph: Graph;
  /** Opens a node; without it a click shows the node's lines. */
  open?: ((id: string) => void) | undefined;
}

function GraphView({ title, graph, open }: ViewProps) {
  const [placed, setPlaced] = useState<Layout | null>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const scroller = useRef<HTMLElement>(null);
  useEffect(() => {
    setPlaced(null);
    return place(boxesOf(graph), graph.edges, setPlaced);
  }, [graph]);
  const marked = graph.nodes.filter((node) => node.mark !== "same");
  const width = scroller.current?.clientWidth ?? 600;
  const scale = zoom ?? Math.min(1, Math.max(0.2, (width - 8) / (placed?.width || 1)));
  const choose = (id: string) => {
    setChosen(id);
    const box = placed?.boxes.find((each) => each.id === id);
    if (box && scroller.current)
      scroller.current.scrollTo({
        left: box.x * scale - width / 3,
        top: box.y * scale - scroller.current.clientHeight / 3,
      });
    open?.(id);
  };
  const selected = graph.nodes.find((node) => node.id === chosen);
  const noun = open ? "functions" : "blocks";
  return (
    <div className="graph">
      <p className="row bar">
        <b>{title}</b>
        <small>
          {graph.nodes.length} {noun}, {graph.edges.length} {open ? "calls" : "edges"}
        </small>
        <span className="end row">
          <button type="button" aria-label="Smaller" onClick={() => setZoom(scale / 1.25)}>
            −
          </button>
          <button type="button" aria-label="Larger" onClick={() => setZoom(scale * 1.25)}>
            +
          </button>
          <button type="button" onClick={() => setZoom(null)}>
            Fit
          </button>
        </span>
      </p>
      {marked.length > 0 && (
        <p className="row marked">
          {marked.slice(0, MAX_NAMED).map((node) => (
            <button
              key={node.id}
              type="button"
              className={node.mark}
              onClick={() => choose(node.id)}
            >
              {node.title}
            </button>
          ))}
          {marked.length > MAX_NAMED && <small>and {marked.length - MAX_NAMED} more</small>}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard */}
      <section className="canvas" ref={scroller} tabIndex={0} aria-label={`${title}: graph`}>
        {graph.nodes.length === 0 ? (
          <p className="hint">The function does not exist here.</p>
        ) : placed ? (
          <Drawing graph={graph} placed={placed} scale={scale} chosen={chosen} choose={choose} />
        ) : (
          <p className="hint">
            Placing {graph.nodes.length} {noun}…
          </p>
        )}
      </section>
      {selected && selected.lines.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard
        <section className="block" tabIndex={0} aria-label={`Block ${selected.title}`}>
          <pre>
            {selected.title}:{"\n"}
            {selected.lines.map((line) => `  ${line}`).join("\n")}
          </pre>
        </section>
      )}
    </div>
  );
}

interface DrawingProps {
  graph: Graph;
  placed: Layout;
  scale: number;
  chosen: string | null;
  choose: (id: string) => void;
}

function Drawing({ graph, placed, scale, chosen, choose }: DrawingProps) {
  const boxes = new Map(placed.boxes.map((box) => [box.id, box]));
  const withText = graph.nodes.length <= MAX_WITH_TEXT;
  return (
    <svg
      width={placed.width * scale}
      height={placed.height * scale}
      viewBox={`0 0 ${placed.width} ${placed.height}`}
      role="img"
      aria-label={`${graph.nodes.length} nodes, ${graph.edges.length} edges`}
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0,0L8,4L0,8z" />
        </marker>
      </defs>
      {placed.edges.map((edge) => (
        <path
          key={`${edge.from} ${edge.to}`}
          className={`edge ${edge.isBack ? "back" : ""} ${[edge.from, edge.to].includes(chosen ?? "") ? "near" : ""}`}
          d={edge.path}
          markerEnd="url(#arrow)"
        />
      ))}
      {graph.nodes.map((node) => {
        const box = boxes.get(node.id);
        if (!box) return null;
        const shown = withText ? node.lines.slice(0, MAX_LINES) : [];
        const left = node.lines.length - shown.length;
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the buttons above are the way by keyboard
          <g
            key={node.id}
            className={`node ${node.mark} ${node.id === chosen ? "chosen" : ""}`}
            transform={`translate(${box.x.toFixed(1)},${box.y.toFixed(1)})`}
            onClick={() => choose(node.id)}
          >
            <title>{[node.title, ...node.lines.slice(0, 30)].join("\n")}</title>
            <rect width={box.width} height={box.height} rx={4} />
            <text x={7} y={15} className="name">
              {clipped(node.title)}
              {!withText && node.lines.length > 0 && ` (${node.lines.length})`}
            </text>
            {shown.map((line, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
              <text key={i} x={7} y={32 + i * LINE}>
                {clipped(line)}
              </text>
            ))}
            {withText && left > 0 && (
              <text x={7} y={32 + shown.length * LINE} className="more">
                {left} more
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

function clipped(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
}
