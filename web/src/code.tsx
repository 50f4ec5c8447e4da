/** Machine code: each function before and after, and the bytes of all of them as an area. */

import { hierarchy, treemap } from "d3-hierarchy";
import { diffArrays } from "diff";
import { useMemo, useState } from "react";
import { useAnswer } from "./answers";
import { VirtualList } from "./lists";
import type { Code, CodeFunction, Program } from "./messages";
import type { Node } from "./tree";

interface Sizes {
  name: string;
  before: number | undefined;
  after: number | undefined;
}

interface Props {
  program: Program;
  node: Node;
  /** The state to compare with; undefined for none. */
  base: Node | undefined;
}

const MAX_CHANGES = 3000;

function useCodes({ program, node, base }: Props) {
  const after = useAnswer<Code>(program, "code", node);
  const before = useAnswer<Code>(program, "code", base);
  const sizes = useMemo(
    () => sizesOf(before.value?.functions, after.value?.functions),
    [before.value, after.value],
  );
  const isReady = after.value !== undefined && (!base || before.value !== undefined);
  return {
    before: before.value,
    after: after.value,
    sizes,
    isReady,
    error: after.error ?? before.error,
  };
}

/** Returns the sizes of all functions, the largest first. */
export function sizesOf(before: CodeFunction[] = [], after: CodeFunction[] = []): Sizes[] {
  const old = new Map(before.map((each) => [each.name, each.bytes]));
  const now = new Map(after.map((each) => [each.name, each.bytes]));
  const names = [...new Set([...now.keys(), ...old.keys()])];
  const sizes = names.map((name) => ({ name, before: old.get(name), after: now.get(name) }));
  return sizes.sort((a, b) => (b.after ?? b.before ?? 0) - (a.after ?? a.before ?? 0));
}

function markOf({ before, after }: Sizes, isCompared: boolean): string {
  if (!isCompared || before === after) return "none";
  return (after ?? 0) < (before ?? 0) ? "better" : "worse";
}

function Total({ before, after }: { before: Code | undefined; after: Code | undefined }) {
  if (!after) return null;
  const delta = before ? after.bytes - before.bytes : 0;
  return (
    <span>
      <b>{after.bytes.toLocaleString("en")}</b> bytes
      {delta !== 0 && (
        <em className={delta < 0 ? "better" : "worse"}>
          {" "}
          {delta < 0 ? "−" : "+"}
          {Math.abs(delta).toLocaleString("en")}
        </em>
      )}{" "}
      <small>code for size, with read-only data and tables for unwinding</small>
    </span>
  );
}

// ---------------------------------------------------------------------------------------------

export function SizesPanel(props: Props & { open: (name: string) => void }) {
  const { before, after, sizes, isReady, error } = useCodes(props);
  if (error) return <p role="alert">{error}</p>;
  if (!isReady || !after) return <p className="hint">Generating code…</p>;
  return (
    <div className="sizes">
      <p className="row bar">
        <Total before={before} after={after} />
      </p>
      <div className="two maps">
        {before && <Treemap title="Before" sizes={sizes} of="before" open={props.open} />}
        <Treemap title={before ? "After" : "Now"} sizes={sizes} of="after" open={props.open} />
      </div>
      <VirtualList
        label="Functions by size"
        className="functions"
        count={sizes.length}
        height={26}
        choose={(index) => props.open(sizes[index]?.name ?? "")}
        row={(index) => {
          const each = sizes[index];
          if (!each) return null;
          const most = Math.max(
            ...sizes.slice(0, 1).map((first) => first.after ?? first.before ?? 1),
          );
          const width = (100 * (each.after ?? 0)) / most;
          return (
            <>
              <span className="name">{each.name}</span>
              <span className="meter">
                <i style={{ width: `${width}%` }} />
              </span>
              <span className="number">{each.after === undefined ? "gone" : each.after}</span>
              <em className={markOf(each, before !== undefined)}>{deltaText(each, before)}</em>
            </>
          );
        }}
      />
    </div>
  );
}

function deltaText(each: Sizes, isCompared: unknown): string {
  if (!isCompared) return "";
  if (each.before === undefined) return "new";
  const delta = (each.after ?? 0) - each.before;
  return delta === 0 ? "" : `${delta < 0 ? "−" : "+"}${Math.abs(delta)}`;
}

const SIDE = 400;

function Treemap(props: {
  title: string;
  sizes: Sizes[];
  of: "before" | "after";
  open: (name: string) => void;
}) {
  const { title, sizes, of, open } = props;
  const isCompared = sizes.some((each) => each.before !== undefined);
  const total = (key: "before" | "after") => sizes.reduce((sum, each) => sum + (each[key] ?? 0), 0);
  const [own, most] = [total(of), Math.max(total("before"), total("after"), 1)];
  // Areas can be compared: the smaller program has the smaller map.
  const scale = Math.sqrt(own / most);
  const [width, height] = [SIDE * 1.6 * scale, SIDE * scale];
  const leaves = useMemo(() => {
    type Item = Partial<Sizes> & { children?: Sizes[] };
    const root = hierarchy<Item>({ children: sizes.filter((each) => each[of]) })
      .sum((item) => item[of] ?? 0)
      .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
    return treemap<Item>().size([width, height]).paddingInner(2).round(false)(root).leaves();
  }, [sizes, of, width, height]);
  return (
    <figure className="treemap">
      <figcaption>
        {title} <b>{own.toLocaleString("en")}</b> <small>bytes in {leaves.length} functions</small>
      </figcaption>
      <svg
        viewBox={`0 0 ${SIDE * 1.6} ${SIDE}`}
        role="img"
        aria-label={`${title}: bytes of each function as an area; the list below has the numbers`}
      >
        {leaves.map((leaf) => {
          const item = leaf.data as Sizes;
          const [w, h] = [leaf.x1 - leaf.x0, leaf.y1 - leaf.y0];
          const letters = Math.floor((w - 8) / 7);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the list is the way by keyboard
            <g
              key={item.name}
              className={`area ${markOf(item, isCompared)}`}
              onClick={() => open(item.name)}
            >
              <title>{`${item.name}: ${item.before ?? "–"} → ${item.after ?? "–"} bytes`}</title>
              <rect x={leaf.x0} y={leaf.y0} width={w} height={h} rx={2} />
              {letters >= 4 && h > 18 && (
                <text x={leaf.x0 + 5} y={leaf.y0 + 14}>
                  {item.name.length > letters ? `${item.name.slice(0, letters - 1)}…` : item.name}
                </text>
              )}
              {letters >= 4 && h > 34 && (
                <text x={leaf.x0 + 5} y={leaf.y0 + 28} className="bytes">
                  {item[of]}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

// ---------------------------------------------------------------------------------------------

interface Row {
  kind: "same" | "removed" | "added" | "changed";
  before?: number | undefined;
  after?: number | undefined;
}

/** Returns the instructions of two versions of a function side by side, as their indices. */
export function compareCode(before: readonly string[], after: readonly string[]): Row[] {
  // Targets are other ones as soon as something in between has another size.
  const masked = (text: string) => text.replace(/\.\+\d+/, ".+");
  const changes = diffArrays(before.map(masked), after.map(masked), {
    maxEditLength: MAX_CHANGES,
  }) ?? [
    { value: [...before], removed: true, added: false, count: before.length },
    { value: [...after], removed: false, added: true, count: after.length },
  ];
  const rows: Row[] = [];
  let [old, now] = [0, 0];
  for (const change of changes) {
    const rest = rows.length;
    for (let i = 0; i < change.value.length; i++) {
      if (change.removed) rows.push({ kind: "removed", before: old++ });
      else if (!change.added) rows.push({ kind: "same", before: old++, after: now++ });
      else {
        // Beside what was removed just before.
        const index = rows.findLastIndex((row) => row.kind !== "removed") + 1;
        const partner = index < rest ? rows[index] : undefined;
        if (partner) Object.assign(partner, { kind: "changed", after: now++ });
        else rows.push({ kind: "added", after: now++ });
      }
    }
  }
  return rows;
}

export function CodePanel(props: Props & { name: string | null; setName: (name: string) => void }) {
  const { before, after, sizes, isReady, error } = useCodes(props);
  const differing = sizes.find((each) => before && each.before !== each.after && each.after);
  const name =
    props.name !== null && sizes.some((each) => each.name === props.name)
      ? props.name
      : (differing ?? sizes[0])?.name;
  const find = (code: Code | undefined) => code?.functions.find((each) => each.name === name);
  const [old, now] = [find(before), find(after)];
  const rows = useMemo(
    () => compareCode((before ? old : now)?.texts ?? [], now?.texts ?? []),
    [before, old, now],
  );
  const [cursor, setCursor] = useState<number>();
  if (error) return <p role="alert">{error}</p>;
  if (!isReady || !after) return <p className="hint">Generating code…</p>;
  if (sizes.length === 0) return <p className="hint">There is no function with code.</p>;
  const cell = (of: CodeFunction | undefined, index: number | undefined) =>
    of &&
    index !== undefined && (
      <>
        <i className="offset">{of.offsets[index]}</i> <Instruction text={of.texts[index] ?? ""} />
      </>
    );
  return (
    <div className="machine">
      <p className="row bar">
        <select
          aria-label="Function"
          className="names"
          value={name}
          onChange={(event) => props.setName(event.target.value)}
        >
          {sizes.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}: {each.after ?? "gone"} {deltaText(each, before)}
            </option>
          ))}
        </select>
        <Total before={before} after={after} />
      </p>
      <VirtualList
        label="Machine code"
        className={`assembly ${before ? "pair" : ""}`}
        count={rows.length}
        height={19}
        cursor={cursor}
        choose={setCursor}
        rowClass={(index) => rows[index]?.kind ?? ""}
        row={(index) => (
          <>
            {before && <code className="before">{cell(old, rows[index]?.before)}</code>}
            <code className="after">{cell(now, rows[index]?.after)}</code>
          </>
        )}
      />
    </div>
  );
}

export function Instruction({ text }: { text: string }) {
  const [code = "", comment] = text.split("  # ");
  const end = code.indexOf(" ");
  return (
    <>
      <span className="ir-opcode">{end < 0 ? code : code.slice(0, end)}</span>
      {end < 0 ? "" : code.slice(end)}
      {comment && <span className="ir-value"> {comment}</span>}
    </>
  );
}
