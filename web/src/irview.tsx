/** The IR before and after a step, side by side, or as one text with the step of each line. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type Blame, compare, type Line, plainLines } from "./ir";

const ROW_HEIGHT = 19;
const TOKENS =
  /("[^"]*")|(%[\w.]+|@[\w.$"]+)|(;.*$)|\b(i\d+|ptr|void|float|double|label)\b|\b(-?\d+)\b|^ {2}(?:%\d+ = )?(?:tail )?([a-z]+)/g;
const CLASSES = ["", "string", "value", "comment", "type", "number", "opcode"];

export function highlighted(line: string): ReactNode {
  const text = line.replace(/ {2,};/, "  ;");
  const parts: ReactNode[] = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    const group = found.findIndex((each, i) => i > 0 && each !== undefined);
    const word = found[group] ?? "";
    const start = found.index + found[0].length - word.length;
    if (start < end) continue;
    parts.push(
      text.slice(end, start),
      <span key={start} className={`ir-${CLASSES[group]}`}>
        {word}
      </span>,
    );
    end = start + word.length;
  }
  return [...parts, text.slice(end)];
}

/** The height of the last view, so that the first drawing of the next one has the right lines. */
let lastHeight = 600;

interface Props {
  before: string | null;
  after: string;
  /** The step of each line; null while the two versions are beside each other. */
  blamed: Blame | null;
  labels: string[];
}

export function IrView({ before, after, blamed, labels }: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const difference = useMemo(
    () =>
      before === null || blamed
        ? { lines: plainLines(after, blamed === null), changed: [] }
        : compare(before, after, open),
    [before, after, open, blamed],
  );
  const places = useMemo(() => (blamed ? placesOf(difference.lines) : null), [difference, blamed]);
  const scroller = useRef<HTMLElement>(null);
  const isNarrow = useIsNarrow();
  const lines = useMemo(
    () => (isNarrow ? difference.lines.flatMap(stacked) : difference.lines),
    [difference, isNarrow],
  );
  // A view begins at its first change.
  const isShown = (line: Line) => !["same", "fold", "head"].includes(line.kind);
  const first = lines.findIndex(before === null ? (line) => line.name !== "" : isShown);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
    initialOffset: Math.max(0, first - 3) * ROW_HEIGHT,
    initialRect: { width: 0, height: lastHeight },
  });
  useLayoutEffect(() => {
    lastHeight = scroller.current?.clientHeight || lastHeight;
  });
  const single = before === null || blamed !== null || isNarrow;
  const toggle = (name: string) => {
    const next = new Set(open);
    if (!next.delete(name)) next.add(name);
    setOpen(next);
  };
  return (
    <section
      className={`ir ${single ? "single" : "pair"}`}
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard
      tabIndex={0}
      aria-label="IR"
    >
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const line = lines[row.index];
          if (!line) return null;
          const steps = places ? blamed?.get(line.name)?.[places[row.index] ?? 0] : undefined;
          return (
            <div
              key={row.key}
              className={`line ${line.kind}`}
              style={{ transform: `translateY(${row.start}px)`, height: ROW_HEIGHT }}
            >
              <LineCells line={line} single={single} toggle={toggle} />
              {steps && <Chain steps={steps} labels={labels} />}
            </div>
          );
        })}
      </div>
    </section>
  );
}

/** The steps that touched a line, the last one in bold. */
function Chain({ steps, labels }: { steps: readonly number[]; labels: readonly string[] }) {
  const names = steps.map((step) => labels[step] || "program");
  const last = names.at(-1);
  if (steps.at(-1) === 0) return null;
  const earlier = names.slice(Math.max(0, names.length - 3), -1);
  return (
    <span className="by" title={names.join(" → ")}>
      {names.length > 3 && "… "}
      {earlier.map((name) => `${name} → `)}
      <b>{last}</b>
    </span>
  );
}

/** Returns a pair of lines that differ as two lines, for screens on which it has no room. */
function stacked(line: Line): Line[] {
  if (line.kind !== "changed") return [line];
  return [
    { ...line, kind: "removed", after: undefined },
    { ...line, kind: "added", before: undefined },
  ];
}

function useIsNarrow(): boolean {
  const query = "(max-width: 800px)";
  const [isNarrow, setIsNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setIsNarrow(list.matches);
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, []);
  return isNarrow;
}

/** Returns the place of each line in its function. */
function placesOf(lines: readonly Line[]): number[] {
  let place = 0;
  return lines.map((line, i) => {
    place = line.name === lines[i - 1]?.name ? place + 1 : 0;
    return place;
  });
}

function LineCells(props: { line: Line; single: boolean; toggle: (name: string) => void }) {
  const { line, single, toggle } = props;
  if (line.kind === "fold" || line.kind === "head") {
    const isFold = line.kind === "fold";
    const isFixed = line.after === "changed";
    return (
      <button
        type="button"
        className="function"
        disabled={isFixed}
        aria-expanded={!isFold}
        onClick={() => toggle(line.name)}
      >
        {isFold ? "▸" : "▾"} @{line.name} <small>{line.after}</small>
      </button>
    );
  }
  if (single)
    return <code className={line.kind}>{highlighted(line.after ?? line.before ?? "")}</code>;
  return (
    <>
      <code className="before" title={line.before}>
        {highlighted(line.before ?? "")}
      </code>
      <code className="after" title={line.after}>
        {highlighted(line.after ?? "")}
      </code>
    </>
  );
}
