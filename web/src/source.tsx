/** The source beside the IR and the machine code, with the lines that belong together; remarks. */

import { useEffect, useMemo, useState } from "react";
import { useAnswer } from "./answers";
import { Instruction } from "./code";
import { partsOf } from "./ir";
import { highlighted } from "./irview";
import { VirtualList } from "./lists";
import type { Code, Lines, Program, Remark, Remarks } from "./messages";
import type { Node } from "./tree";

interface Row {
  text: string;
  /** The line of the source; 0 for none. */
  line: number;
  isHead?: boolean;
}

const ROW = 19;

/** Returns the lines of the IR's functions with those of the source. */
export function irRows(ir: string, lines: Lines): Row[] {
  return partsOf(ir)
    .filter((part) => part.name)
    .flatMap((part) => {
      const numbers = lines.ir[part.name];
      return part.lines.map((text, i) => ({ text, line: numbers?.[i] ?? 0 }));
    });
}

export function codeRows(code: Code, lines: Lines): Row[] {
  return code.functions.flatMap((each) => {
    const numbers = lines.code[each.name];
    const head = { text: `${each.name}: ${each.bytes} bytes`, line: 0, isHead: true };
    return [head, ...each.texts.map((text, i) => ({ text, line: numbers?.[i] ?? 0 }))];
  });
}

interface Props {
  program: Program;
  node: Node;
  ir: string;
  line: number | null;
  setLine: (line: number | null) => void;
}

export function SourcePanel({ program, node, ir, line, setLine }: Props) {
  const lines = useAnswer<Lines>(program, "lines", node);
  const code = useAnswer<Code>(program, "code", node);
  const remarks = useAnswer<Remarks>(program, "remarks", node);
  const source = useMemo(
    () => (lines.value?.source ?? "").split("\n").map((text, i) => ({ text, line: i + 1 })),
    [lines.value],
  );
  const inIr = useMemo(() => (lines.value ? irRows(ir, lines.value) : []), [ir, lines.value]);
  const inCode = useMemo(
    () => (code.value && lines.value ? codeRows(code.value, lines.value) : []),
    [code.value, lines.value],
  );
  const byLine = useMemo(
    () => Map.groupBy(remarks.value?.rows ?? [], (remark) => remark.line ?? 0),
    [remarks.value],
  );
  const error = lines.error ?? code.error;
  if (error) return <p role="alert">{error}</p>;
  if (!lines.value || !code.value)
    return <p className="hint">Compiling the source with debug lines…</p>;
  if (lines.value.problem) return <p className="hint">{lines.value.problem}</p>;
  const { inexact } = lines.value;
  const known = new Set([...inIr, ...inCode].map((row) => row.line));
  return (
    <div className="source">
      <p className="hint">
        Choose a line of the source, of the IR or of the machine code to see what belongs to it.
        {inexact.length > 0 &&
          ` Without lines, as debug information changes them: ${inexact.slice(0, 5).join(", ")}${inexact.length > 5 ? " and more" : ""}.`}
      </p>
      <div className="three">
        <Column
          title="Source"
          rows={source}
          line={line}
          setLine={setLine}
          row={(each) => (
            <>
              <i className={`offset ${known.has(each.line) ? "known" : ""}`}>{each.line}</i>
              <span>{each.text}</span>
              <LineRemarks rows={byLine.get(each.line) ?? []} />
            </>
          )}
        />
        <Column
          title="IR"
          rows={inIr}
          line={line}
          setLine={setLine}
          row={(each) => (
            <>
              <i className="offset">{each.line || ""}</i>
              <span>{highlighted(each.text)}</span>
              {each.text === "" && <span className="unseen">empty line</span>}
            </>
          )}
        />
        <Column
          title="Machine code"
          rows={inCode}
          line={line}
          setLine={setLine}
          row={(each) => (
            <>
              <i className="offset">{each.line || ""}</i>
              {each.isHead ? <b>{each.text}</b> : <Instruction text={each.text} />}
            </>
          )}
        />
      </div>
    </div>
  );
}

function LineRemarks({ rows }: { rows: readonly Remark[] }) {
  if (rows.length === 0) return null;
  const passed = rows.filter((remark) => remark.kind === "passed");
  const first = passed[0] ?? rows[0];
  return (
    <small
      className={passed.length > 0 ? "remark passed" : "remark"}
      title={rows.map((remark) => `${remark.kind}: ${remark.message}`).join("\n")}
    >
      {first?.name}
      {rows.length > 1 && ` +${rows.length - 1}`}
    </small>
  );
}

function Column<T extends Row>(props: {
  title: string;
  rows: T[];
  line: number | null;
  setLine: (line: number | null) => void;
  row: (row: T) => React.ReactNode;
}) {
  const { title, rows, line, setLine, row } = props;
  const [own, setOwn] = useState<number | undefined>();
  // The row that was chosen here, or the first that belongs to a line that was chosen elsewhere.
  useEffect(() => {
    setOwn((former) => {
      if (former !== undefined && rows[former]?.line === line) return former;
      const found = line ? rows.findIndex((each) => each.line === line) : -1;
      return found < 0 ? undefined : found;
    });
  }, [rows, line]);
  const count = line ? rows.filter((each) => each.line === line).length : 0;
  return (
    <section aria-label={title}>
      <h2>
        {title} {line !== null && title !== "Source" && <small>{count} of this line</small>}
      </h2>
      <VirtualList
        label={title}
        className={`column column-${title.slice(0, 2)}`}
        count={rows.length}
        height={ROW}
        cursor={own}
        choose={(index) => {
          setOwn(index);
          setLine(rows[index]?.line || null);
        }}
        rowClass={(index) => (line && rows[index]?.line === line ? "near" : "")}
        row={(index) => {
          const each = rows[index];
          return each ? row(each) : null;
        }}
      />
    </section>
  );
}

// ---------------------------------------------------------------------------------------------

const KINDS = ["all", "passed", "missed", "analysis"] as const;

export function RemarksPanel(props: {
  program: Program;
  node: Node;
  open: (line: number) => void;
}) {
  const { value, error } = useAnswer<Remarks>(props.program, "remarks", props.node);
  const [kind, setKind] = useState<(typeof KINDS)[number]>("all");
  const [text, setText] = useState("");
  const [cursor, setCursor] = useState<number>();
  const rows = useMemo(() => {
    const word = text.toLowerCase();
    return (value?.rows ?? []).filter(
      (row) =>
        (kind === "all" || row.kind === kind) &&
        `${row.name} ${row.function} ${row.message}`.toLowerCase().includes(word),
    );
  }, [value, kind, text]);
  if (error) return <p role="alert">{error}</p>;
  if (!props.node.step) return <p className="hint">Apply a pass to see what it reports.</p>;
  if (!value) return <p className="hint">Running the pass again with remarks…</p>;
  if (value.rows.length === 0)
    return (
      <p className="hint">
        The last pass has no remarks. Among those that do are inline, gvn, licm and the vectorisers.
      </p>
    );
  return (
    <div className="remarks">
      <p className="row bar">
        <select
          aria-label="Kind of remark"
          value={kind}
          onChange={(event) => setKind(event.target.value as (typeof KINDS)[number])}
        >
          {KINDS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <input
          type="search"
          placeholder="Search in remarks"
          aria-label="Search in remarks"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <small>
          {rows.length} of {value.rows.length + value.more}
        </small>
      </p>
      <VirtualList
        label="Remarks"
        className="reports"
        count={rows.length}
        height={44}
        cursor={cursor}
        choose={(index) => {
          setCursor(index);
          const line = rows[index]?.line;
          if (line) props.open(line);
        }}
        row={(index) => {
          const each = rows[index];
          if (!each) return null;
          return (
            <>
              <b className={each.kind}>{each.name}</b>
              <small>
                {each.function}
                {each.line !== null && `, line ${each.line}`}
              </small>
              <span title={each.message}>{each.message}</span>
            </>
          );
        }}
      />
    </div>
  );
}
