/** The parts of the page around the IR: actions, tree, charts, search, causes, export. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, useEffect, useMemo, useRef, useState } from "react";
import { useAnswer } from "./answers";
import { type Job, startJob } from "./api";
import type { Action, Cause, Export, Metrics, Program, RankRow, SearchPoint } from "./messages";
import { recording } from "./recording";
import { download, savePage } from "./save";
import { type Node, type Row, rowsOf, type Tree } from "./tree";

export type Objective = "instructions" | "bytes" | "cycles";

export function signed(saved: number): string {
  return saved > 0 ? `−${saved}` : saved < 0 ? `+${-saved}` : "0";
}

// ---------------------------------------------------------------------------------------------

interface ActionsProps {
  actions: Action[];
  ranking: ReadonlyMap<string, RankRow>;
  disabled: boolean;
  apply: (name: string) => void;
  applyText: (text: string) => void;
}

export const ActionPanel = memo(function ActionPanel(props: ActionsProps) {
  const { actions, ranking, disabled, apply, applyText } = props;
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/);
    const key = (action: Action) => `${action.name} ${action.description}`.toLowerCase();
    const score = (action: Action) => ranking.get(action.name)?.saved ?? -1e9;
    const matching = actions.filter((action) => words.every((word) => key(action).includes(word)));
    const starts = (action: Action) => Number(text !== "" && action.short.startsWith(text));
    return matching.sort((a, b) => starts(b) - starts(a) || score(b) - score(a));
  }, [actions, ranking, text]);
  const isPipeline = /[,(]/.test(text) || text.startsWith("opt ");
  const list = useRef<HTMLUListElement>(null);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(found.length - 1, to));
    setIndex(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const choose = () => {
    const action = found[index];
    if (isPipeline) applyText(text);
    else if (action) apply(action.name);
    setText("");
    setIndex(0);
  };
  return (
    <section className="actions">
      <h2>Passes</h2>
      <input
        id="search-actions"
        type="search"
        placeholder="Search, or type a pipeline (press /)"
        aria-label="Search passes by name or description, or type a pipeline"
        value={text}
        disabled={disabled}
        onChange={(event) => {
          setText(event.target.value);
          setIndex(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") choose();
          else if (event.key === "ArrowDown") move(index + 1);
          else if (event.key === "ArrowUp") move(index - 1);
          else if (event.key === "Escape") {
            setText("");
            event.currentTarget.blur(); // The keys of the page work again.
          } else return;
          event.preventDefault();
        }}
      />
      {isPipeline ? (
        <p className="hint">Enter applies this pipeline.</p>
      ) : (
        <ul ref={list} aria-label="Passes">
          {found.map((action, i) => (
            <li key={action.name}>
              <button
                type="button"
                className={i === index && text ? "chosen" : ""}
                disabled={disabled}
                onClick={() => apply(action.name)}
                title={action.description}
              >
                <b>{action.short}</b>
                <Saving row={ranking.get(action.name)} />
                <span>{action.description}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {found.length === 0 && !isPipeline && <p className="hint">No pass has these words.</p>}
    </section>
  );
});

function Saving({ row }: { row: RankRow | undefined }) {
  if (!row) return null;
  if (row.saved === null || row.saved === undefined)
    return (
      <em className="worse" title={row.error ?? ""}>
        fails
      </em>
    );
  if (!row.changed) return <em className="none">no change</em>;
  const kind = row.saved > 0 ? "better" : row.saved < 0 ? "worse" : "none";
  return <em className={kind}>{signed(row.saved)}</em>;
}

// ---------------------------------------------------------------------------------------------

interface TreeProps {
  tree: Tree;
  current: string;
  shorts: ReadonlyMap<string, string>;
  busy: boolean;
  go: (id: string) => void;
}

const TREE_ROW = 28;

export const TreePanel = memo(function TreePanel({ tree, current, shorts, busy, go }: TreeProps) {
  const rows = useMemo(() => rowsOf(tree), [tree]);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => TREE_ROW,
    overscan: 10,
  });
  useEffect(() => {
    const index = rows.findIndex((row) => row.node.id === current);
    if (index >= 0) list.scrollToIndex(index);
  }, [rows, current, list]);
  return (
    <section className="tree" aria-busy={busy}>
      <h2>Tree</h2>
      <div className="scroll" ref={scroller}>
        <ol style={{ height: list.getTotalSize() }} onKeyDown={moveInTree}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            return (
              <li key={row.node.id} style={{ transform: `translateY(${item.start}px)` }}>
                <TreeRow row={row} tree={tree} current={current} shorts={shorts} go={go} />
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
});

function moveInTree(event: KeyboardEvent<HTMLElement>) {
  const item = (event.target as HTMLElement).closest("li");
  const next = {
    ArrowDown: item?.nextElementSibling,
    ArrowUp: item?.previousElementSibling,
  }[event.key];
  next?.querySelector("button")?.focus();
  if (next) event.preventDefault();
}

function TreeRow(props: Omit<TreeProps, "busy"> & { row: Row }) {
  const { node, depth } = props.row;
  const step = node.step;
  const parent = node.parent === null ? undefined : props.tree[node.parent];
  const saved = parent ? parent.instructions - node.instructions : 0;
  const name = step ? (props.shorts.get(step.action) ?? step.action) : "program";
  const functions = step ? step.functions_changed.length + step.functions_removed.length : 0;
  return (
    <button
      type="button"
      className={step && !step.changed ? "idle" : ""}
      aria-current={node.id === props.current}
      style={{ paddingLeft: 10 + Math.min(depth, 8) * 14 }}
      onClick={() => props.go(node.id)}
      title={step ? `${step.action}: ${functions} functions changed` : "The program itself"}
    >
      <i className={depth ? "fork" : ""} />
      <b>{name}</b>
      <em className={saved > 0 ? "better" : saved < 0 ? "worse" : "none"}>
        {step && (step.changed ? signed(saved) : "no change")}
      </em>
      <span>{node.instructions.toLocaleString("en")}</span>
    </button>
  );
}

// ---------------------------------------------------------------------------------------------

export interface Point {
  label: string;
  value: number;
}

/** A line chart of one cost; a click on a point goes to its state. */
export function Chart(props: { title: string; points: Point[]; choose?: (index: number) => void }) {
  const { title, points, choose } = props;
  const [width, height, top, bottom] = [300, 92, 12, 80];
  const most = Math.max(...points.map((point) => point.value), 1);
  const least = Math.min(...points.map((point) => point.value), most);
  const range = most - least || 1;
  const x = (i: number) => 8 + (i * (width - 16)) / Math.max(1, points.length - 1);
  const y = (value: number) => bottom - ((value - least) * (bottom - top)) / range;
  const places = points.map((point, i) => `${x(i)},${y(point.value)}`).join(" ");
  const last = points.at(-1);
  return (
    <figure className="chart">
      <figcaption>
        {title} <b>{last ? last.value.toLocaleString("en") : "…"}</b>
        <small>
          {points.length > 1 && `${least.toLocaleString("en")} to ${most.toLocaleString("en")}`}
        </small>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title} of each step`}>
        <polyline points={places} />
        {points.map((point, i) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the tree is the way by keyboard
          <circle
            // biome-ignore lint/suspicious/noArrayIndexKey: a point is its place
            key={i}
            cx={x(i)}
            cy={y(point.value)}
            r={points.length > 60 ? 1.5 : 3.5}
            onClick={() => choose?.(i)}
          >
            <title>{`${point.label}: ${point.value}`}</title>
          </circle>
        ))}
      </svg>
    </figure>
  );
}

export function Charts(props: {
  nodes: Node[];
  metrics: ReadonlyMap<string, Metrics>;
  shorts: ReadonlyMap<string, string>;
  go: (id: string) => void;
}) {
  const label = (node: Node) =>
    node.step ? (props.shorts.get(node.step.action) ?? node.step.action) : "program";
  const measured = props.nodes.filter((node) => props.metrics.has(node.id));
  const pointsOf = (key: Objective) =>
    measured.map((node) => ({ label: label(node), value: props.metrics.get(node.id)?.[key] ?? 0 }));
  return (
    <div className="charts">
      <Chart
        title="IR instructions"
        points={props.nodes.map((node) => ({ label: label(node), value: node.instructions }))}
        choose={(i) => props.go(props.nodes[i]?.id ?? "")}
      />
      <Chart
        title="Bytes of code"
        points={pointsOf("bytes")}
        choose={(i) => props.go(measured[i]?.id ?? "")}
      />
      <Chart
        title="Estimated cycles"
        points={pointsOf("cycles")}
        choose={(i) => props.go(measured[i]?.id ?? "")}
      />
    </div>
  );
}

export function Features(props: {
  names: string[];
  now: Metrics | undefined;
  before: Metrics | undefined;
}) {
  const { names, now, before } = props;
  if (!now) return <p className="hint">Measuring…</p>;
  const rows = names.flatMap((name, i) => {
    const [value, former] = [now.autophase[i] ?? 0, before?.autophase[i]];
    return value || former ? [{ name, value, delta: value - (former ?? value) }] : [];
  });
  return (
    <table>
      <thead>
        <tr>
          <th>Autophase feature</th>
          <th>now</th>
          <th>by this step</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name} className={row.delta ? "differs" : ""}>
            <td>{row.name}</td>
            <td>{row.value}</td>
            <td>{row.delta ? signed(-row.delta) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// ---------------------------------------------------------------------------------------------

export const SearchPanel = memo(function SearchPanel(props: {
  program: string;
  maxSeconds: number;
  take: (actions: string[]) => void;
}) {
  const [objective, setObjective] = useState<Objective>("instructions");
  const [seconds, setSeconds] = useState(Math.min(20, props.maxSeconds));
  const [points, setPoints] = useState<SearchPoint[]>([]);
  const [error, setError] = useState<string | null>(null);
  const [job, setJob] = useState<Job | null>(null);
  const [isPaused, setIsPaused] = useState(false);
  useEffect(() => () => job?.stop(), [job]);
  const start = () => {
    setPoints([]);
    setError(null);
    const request = { program: props.program, objective, seconds };
    setIsPaused(false);
    const started = startJob<SearchPoint>(
      "search",
      request,
      (point) => setPoints((former) => [...former, point]),
      (problem) => {
        setError(problem);
        setJob(null);
      },
    );
    setJob(started);
  };
  const last = points.at(-1);
  return (
    <div className="panel">
      <p className="row">
        <ObjectiveChoice value={objective} set={setObjective} />
        <label>
          seconds{" "}
          <input
            type="number"
            min={1}
            max={props.maxSeconds}
            value={seconds}
            onChange={(event) => setSeconds(Number(event.target.value) || 1)}
          />
        </label>
        {job ? (
          <>
            <button
              type="button"
              aria-pressed={isPaused}
              onClick={() => {
                job.send(isPaused ? "resume" : "pause");
                setIsPaused(!isPaused);
              }}
            >
              {isPaused ? "Go on" : "Pause"}
            </button>
            <button type="button" onClick={job.stop}>
              Stop
            </button>
          </>
        ) : (
          <button type="button" onClick={start}>
            Search
          </button>
        )}
        <button
          type="button"
          disabled={!last || last.actions.length === 0}
          onClick={() => last && props.take(last.actions)}
        >
          Take the best as a branch
        </button>
      </p>
      {error && <p role="alert">{error}</p>}
      {last ? (
        <>
          <Chart
            title={`Fewest ${objective}`}
            points={points.map((point) => ({ label: `${point.seconds} s`, value: point.best }))}
          />
          <p className="hint">
            {last.tries} sequences in {last.seconds} s{isPaused && ", paused"}
          </p>
        </>
      ) : (
        <p className="hint">
          Tries sequences of passes in forks of the program while you go on, first those that were
          learnt from other programs.
        </p>
      )}
    </div>
  );
});

export function ObjectiveChoice(props: { value: Objective; set: (value: Objective) => void }) {
  return (
    <select
      aria-label="What to make small"
      value={props.value}
      onChange={(event) => props.set(event.target.value as Objective)}
    >
      <option value="instructions">IR instructions</option>
      <option value="bytes">bytes of code</option>
      <option value="cycles">estimated cycles</option>
    </select>
  );
}

// ---------------------------------------------------------------------------------------------

const VERDICTS: Record<Cause["verdict"], string> = {
  enables: "enables it",
  "does its work": "does part of its work",
  "no influence": "no influence",
  unknown: "unknown: a pass fails without it",
};

export function CausesPanel(props: {
  program: string;
  node: Node;
  shorts: ReadonlyMap<string, string>;
}) {
  const { program, node, shorts } = props;
  const [causes, setCauses] = useState<Cause[]>([]);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    setCauses([]);
    setError(null);
    if (node.actions.length < 2) return;
    const request = { program, actions: node.actions };
    return startJob<Cause>(
      "causes",
      request,
      (cause) => setCauses((all) => [...all, cause]),
      setError,
    ).stop;
  }, [program, node]);
  if (node.actions.length < 2)
    return (
      <p className="hint">
        Go to a state after two passes or more to see what its last pass depends on.
      </p>
    );
  const name = (action: string | undefined) => shorts.get(action ?? "") ?? action;
  return (
    <div className="panel">
      <p className="hint">
        What <b>{name(node.actions.at(-1))}</b> saves when one of the earlier passes is left out.
      </p>
      {error && <p role="alert">{error}</p>}
      <table>
        <thead>
          <tr>
            <th>without</th>
            <th>it saves</th>
            <th>so that pass</th>
          </tr>
        </thead>
        <tbody>
          {causes.map((cause) => (
            <tr key={cause.step} className={cause.verdict === "no influence" ? "" : "differs"}>
              <td>
                {cause.step + 1}. {name(node.actions[cause.step])}
              </td>
              <td>
                {cause.saved} instead of {cause.saved_before}
              </td>
              <td>{VERDICTS[cause.verdict]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function ExportPanel(props: { program: Program; node: Node; nodes: Node[] }) {
  const { program, node, nodes } = props;
  const { value: made, error } = useAnswer<Export>(program, "export", node);
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const save = async () => {
    setIsSaving(true);
    setFailure(null);
    try {
      await savePage(program, nodes);
    } catch (problem) {
      setFailure((problem as Error).message);
    }
    setIsSaving(false);
  };
  if (error) return <p role="alert">{error}</p>;
  if (!made) return <p className="hint">Writing…</p>;
  return (
    <div className="panel">
      {!recording && (
        <div className="text">
          <p className="row">
            <b>This branch as a page</b>
            <button type="button" disabled={isSaving} onClick={save}>
              {isSaving ? "Collecting…" : "Save"}
            </button>
            <small>One file that opens from disk, without a server and without a network.</small>
          </p>
          {failure && <p role="alert">{failure}</p>}
        </div>
      )}
      <Text title="opt command line" text={made.commandline} />
      <Text title="Python" text={made.python} />
      <Text title="CSV, for compiler-gym validate" text={made.csv} />
      <Text
        title="Reproducer: a script with the program, for opt"
        text={made.script}
        file="reproducer.sh"
      />
    </div>
  );
}

function Text({ title, text, file }: { title: string; text: string; file?: string }) {
  return (
    <div className="text">
      <p className="row">
        <b>{title}</b>
        <button type="button" onClick={() => navigator.clipboard.writeText(text)}>
          Copy
        </button>
        {file && (
          <button type="button" onClick={() => download(text, file)}>
            Save
          </button>
        )}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard */}
      <section tabIndex={0} aria-label={title}>
        <pre>{text}</pre>
      </section>
    </div>
  );
}
