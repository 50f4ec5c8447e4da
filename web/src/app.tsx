/** The page: the program, the tree of states, and what is known about the present one. */

import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { call, RequestError, startJob } from "./api";
import { blame } from "./ir";
import { IrView } from "./irview";
import { formatLink, parseLink } from "./link";
import type {
  Diagnostic,
  Info,
  Metrics,
  Path,
  Pipeline,
  Program,
  RankRow,
  Source,
} from "./messages";
import {
  ActionPanel,
  CausesPanel,
  Charts,
  ExportPanel,
  Features,
  type Objective,
  ObjectiveChoice,
  SearchPanel,
  TreePanel,
} from "./panels";
import { branch, idOf, knownLength, newTree, ROOT, type Tree, withSteps } from "./tree";

const ProgramDialog = lazy(() => import("./editor"));
const TABS = ["Change", "Blame", "Charts", "Features", "Causes", "Search", "Export"] as const;
type Tab = (typeof TABS)[number];
const LEVELS = ["O1", "O2", "O3", "Os", "Oz"];
const NO_RANKING: ReadonlyMap<string, RankRow> = new Map();

export function App() {
  const [info, setInfo] = useState<Info | null>(null);
  const [program, setProgram] = useState<Program | null>(null);
  const [tree, setTree] = useState<Tree>({});
  const [current, setCurrent] = useState(ROOT);
  const [irs, setIrs] = useState<ReadonlyMap<string, string>>(new Map());
  const [metrics, setMetrics] = useState<ReadonlyMap<string, Metrics>>(new Map());
  const [tab, setTab] = useState<Tab>("Change");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [choosing, setChoosing] = useState(false);
  const [diagnostics, setDiagnostics] = useState<Diagnostic[]>([]);
  const [ranking, setRanking] = useState(NO_RANKING);
  const [objective, setObjective] = useState<Objective>("instructions");
  const stopRanking = useRef<(() => void) | null>(null);
  const [isRanking, setIsRanking] = useState(false);
  const visit = useRef(0);

  const shorts = useMemo(
    () =>
      new Map([...(info?.actions ?? []), ...(info?.pipelines ?? [])].map((a) => [a.name, a.short])),
    [info],
  );

  /** Makes a request about a program, which is sent again if the server does not know it. */
  const ask = useCallback(async <T,>(of: Program, name: string, body: object) => {
    try {
      return await call<T>(name, body);
    } catch (problem) {
      if (!(problem instanceof RequestError) || problem.problem.kind !== "unknown program")
        throw problem;
      await call("program", of.source ? { source: of.source } : { name: of.name });
      return await call<T>(name, body);
    }
  }, []);

  const endRanking = useCallback(() => {
    stopRanking.current?.();
    stopRanking.current = null;
    setRanking(NO_RANKING);
  }, []);

  /** Goes to a state, and adds it to the tree. */
  const goTo = useCallback(
    async (of: Program, from: Tree, actions: string[], push = true) => {
      const number = ++visit.current;
      endRanking();
      setBusy(true);
      setError(null);
      try {
        const first = knownLength(from, actions);
        // The address changes together with the page, so that a reload shows the same.
        const [found, link] = await Promise.all([
          ask<Path>(of, "path", { program: of.id, actions, first }),
          formatLink({ name: of.name, source: of.source, actions }),
        ]);
        if (number !== visit.current) return;
        const id = idOf(actions);
        setTree((former) =>
          withSteps({ ...from, ...former }, actions.slice(0, first), found.steps),
        );
        setIrs((former) => new Map(former).set(id, found.ir));
        setCurrent(id);
        if (link !== location.hash) history[push ? "pushState" : "replaceState"](null, "", link);
      } catch (problem) {
        if (number === visit.current) setError((problem as Error).message);
      } finally {
        if (number === visit.current) setBusy(false);
      }
    },
    [ask, endRanking],
  );

  const openProgram = useCallback(
    async (request: { name?: string; source?: Source }, actions: string[] = []) => {
      setBusy(true);
      setError(null);
      setDiagnostics([]);
      try {
        const opened = await call<Program>("program", request);
        setProgram(opened);
        setIrs(new Map());
        setMetrics(new Map());
        setChoosing(false);
        const fresh = newTree(opened.instructions);
        setTree(fresh);
        await goTo(opened, fresh, [], actions.length === 0);
        if (actions.length > 0) await goTo(opened, fresh, actions, false);
      } catch (problem) {
        setError((problem as Error).message);
        if (problem instanceof RequestError) setDiagnostics(problem.problem.diagnostics);
        if (request.source) setChoosing(true);
      } finally {
        setBusy(false);
      }
    },
    [goTo],
  );

  // The state that the address names, at the beginning and when the browser goes back.
  const present = useRef({ program, tree });
  present.current = { program, tree };
  useEffect(() => {
    const follow = async (facts: Info) => {
      try {
        const link = await parseLink(location.hash);
        const { program: of, tree: from } = present.current;
        const name = link.name ?? facts.program ?? facts.programs[0];
        const isSame = link.source
          ? JSON.stringify(link.source) === JSON.stringify(of?.source)
          : of?.name === name && !of?.source;
        if (of && isSame) await goTo(of, from, link.actions, false);
        else await openProgram(link.source ? { source: link.source } : { name }, link.actions);
      } catch (problem) {
        setError((problem as Error).message);
      }
    };
    let facts: Info | null = null;
    call<Info>("info").then(
      (found) => {
        facts = found;
        setInfo(found);
        follow(found);
      },
      (problem) => setError(problem.message),
    );
    const again = () => facts && follow(facts);
    addEventListener("popstate", again);
    return () => removeEventListener("popstate", again);
  }, [goTo, openProgram]);

  const node = tree[current];
  const nodes = useMemo(() => branch(tree, current), [tree, current]);
  const isLevel = info?.pipelines.some((each) => each.name === node?.actions[0]) ?? false;

  // The IR before the last step, and with blame that of each step that changed something.
  const needed = useMemo(() => {
    if (tab === "Blame") return nodes.filter((each) => !each.step || each.step.changed);
    return tab === "Change" ? nodes.slice(-2) : [];
  }, [tab, nodes]);
  useEffect(() => {
    if (!program) return;
    for (const each of needed) {
      if (irs.has(each.id) || each.id === current) continue;
      const body = { program: program.id, actions: each.actions, first: each.actions.length };
      ask<Path>(program, "path", body).then(
        (found) => setIrs((former) => new Map(former).set(each.id, found.ir)),
        (problem) => setError(problem.message),
      );
      return; // One after the other: the next follows when this one is known.
    }
  }, [needed, irs, program, current, ask]);

  useEffect(() => {
    if (!program || !["Charts", "Features"].includes(tab)) return;
    const next = nodes.toReversed().find((each) => !metrics.has(each.id));
    if (!next) return;
    ask<Metrics>(program, "metrics", { program: program.id, actions: next.actions }).then(
      (found) => setMetrics((former) => new Map(former).set(next.id, found)),
      (problem) => setError(problem.message),
    );
  }, [program, tab, nodes, metrics, ask]);

  const apply = useCallback(
    (names: string[], start?: string[]) => {
      if (program) goTo(program, tree, [...(start ?? node?.actions ?? []), ...names]);
    },
    [program, tree, node, goTo],
  );
  const applyText = async (text: string) => {
    try {
      apply((await call<Pipeline>("pipeline", { text })).actions);
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  const undo = useCallback(() => {
    if (program && node && node.parent !== null)
      goTo(program, tree, tree[node.parent]?.actions ?? []);
  }, [program, tree, node, goTo]);

  const rank = () => {
    if (!program || !node) return;
    endRanking();
    setIsRanking(true);
    const body = { program: program.id, actions: node.actions, objective };
    const stop = startJob<RankRow>(
      "rank",
      body,
      (row) => setRanking((former) => new Map(former).set(row.action, row)),
      (problem) => {
        setIsRanking(false);
        if (problem) setError(problem);
      },
    );
    stopRanking.current = stop;
  };

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (target.closest("input, select, dialog, [contenteditable]")) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search-actions")?.focus();
      else if (event.key === "u") undo();
      else if (event.key === "r") document.getElementById("rank")?.click();
      else if (event.key === "p") setChoosing(true);
      else if (/^[1-7]$/.test(event.key)) setTab(TABS[Number(event.key) - 1] ?? "Change");
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [undo]);

  const blamed = useMemo(() => {
    if (tab !== "Blame" || needed.some((each) => !irs.has(each.id))) return null;
    return blame(needed.map((each) => irs.get(each.id) ?? ""));
  }, [tab, needed, irs]);
  const ir = irs.get(current);
  const parentIr = node?.parent != null ? irs.get(node.parent) : undefined;
  const root = tree[ROOT];

  return (
    <>
      <header>
        <h1>CompilerGym explorer</h1>
        <button type="button" onClick={() => setChoosing(true)} title="Choose a program (p)">
          {program ? `Program: ${program.name}` : "Choose a program"}
        </button>
        <button type="button" disabled={!node || node.parent === null} onClick={undo} title="u">
          Undo
        </button>
        <span className="row levels">
          Compare
          {LEVELS.map((level) => (
            <button
              key={level}
              type="button"
              disabled={!program}
              onClick={() => apply([`default<${level}>`], [])}
            >
              -{level}
            </button>
          ))}
        </span>
        {node && root && (
          <output className="count" aria-live="polite">
            <b>{node.instructions.toLocaleString("en")}</b> of{" "}
            {root.instructions.toLocaleString("en")} instructions
          </output>
        )}
      </header>
      {error && !choosing && (
        <p role="alert" className="banner">
          {error}
          <button type="button" onClick={() => setError(null)}>
            Dismiss
          </button>
        </p>
      )}
      <main>
        <div className="left">
          <p className="row rank">
            <button id="rank" type="button" disabled={!node || isLevel} onClick={rank} title="r">
              {isRanking ? "Ranking…" : "Which pass next?"}
            </button>
            <ObjectiveChoice value={objective} set={setObjective} />
          </p>
          <ActionPanel
            actions={info?.actions ?? []}
            ranking={ranking}
            disabled={!node || isLevel}
            apply={(name) => apply([name])}
            applyText={applyText}
          />
          {isLevel && (
            <p className="hint">
              This branch is a whole pipeline. Go to another state to apply passes.
            </p>
          )}
          <TreePanel
            tree={tree}
            current={current}
            shorts={shorts}
            busy={busy}
            go={(id) => program && goTo(program, tree, tree[id]?.actions ?? [])}
          />
        </div>
        <div className="right">
          <div role="tablist" aria-label="Views">
            {TABS.map((name, i) => (
              <button
                key={name}
                type="button"
                role="tab"
                aria-selected={tab === name}
                title={`Key ${i + 1}`}
                onClick={() => setTab(name)}
              >
                {name}
              </button>
            ))}
          </div>
          <div role="tabpanel" aria-label={tab} className="view" aria-busy={busy}>
            {program && node && (
              <>
                {(tab === "Change" || tab === "Blame") && ir !== undefined && (
                  <>
                    <Summary node={node} tab={tab} ready={tab === "Change" || blamed !== null} />
                    <IrView
                      key={`${current}${tab}`}
                      before={tab === "Blame" ? null : (parentIr ?? null)}
                      after={ir}
                      blamed={blamed}
                      labels={needed.map((each) =>
                        each.step
                          ? `${each.actions.length}. ${shorts.get(each.step.action) ?? each.step.action}`
                          : "",
                      )}
                    />
                  </>
                )}
                {tab === "Charts" && (
                  <Charts
                    nodes={nodes}
                    metrics={metrics}
                    shorts={shorts}
                    go={(id) => goTo(program, tree, tree[id]?.actions ?? [])}
                  />
                )}
                {tab === "Features" && (
                  <Features
                    names={info?.autophase ?? []}
                    now={metrics.get(current)}
                    before={node.parent === null ? undefined : metrics.get(node.parent)}
                  />
                )}
                {tab === "Causes" && !isLevel && (
                  <CausesPanel program={program.id} node={node} shorts={shorts} />
                )}
                {tab === "Export" && <ExportPanel program={program.id} node={node} />}
              </>
            )}
            {/* A search goes on while other tabs are looked at. */}
            {program && (
              <div hidden={tab !== "Search"}>
                <SearchPanel
                  key={program.id}
                  program={program.id}
                  maxSeconds={info?.max_search_seconds ?? 60}
                  take={(actions) => apply(actions, [])}
                />
              </div>
            )}
          </div>
        </div>
      </main>
      {choosing && info && (
        <Suspense fallback={null}>
          <ProgramDialog
            info={info}
            source={program?.source ?? null}
            diagnostics={diagnostics}
            error={error}
            busy={busy}
            openName={(name) => name && openProgram({ name })}
            openSource={(source) => openProgram({ source })}
            close={() => setChoosing(false)}
          />
        </Suspense>
      )}
    </>
  );
}

function Summary(props: {
  node: { step: import("./messages").Step | null; parent: string | null };
  tab: Tab;
  ready: boolean;
}) {
  const { step } = props.node;
  if (!props.ready) return <p className="hint">Comparing the versions of this branch…</p>;
  if (props.tab === "Blame")
    return (
      <p className="hint">
        Each line has the step that made or last changed it; others are as in the program.
      </p>
    );
  if (!step)
    return <p className="hint">The program, before any pass. Apply one: press / and type.</p>;
  if (!step.changed) return <p className="hint">This pass changed nothing.</p>;
  const names = [...step.functions_changed, ...step.functions_removed];
  return (
    <p className="hint">
      Before and after. {names.length === 1 ? "1 function" : `${names.length} functions`} changed:{" "}
      {names.slice(0, 6).join(", ")}
      {names.length > 6 && " and more"}
    </p>
  );
}
