/** The page: the program, the tree of states, and what is known about the present one. */

import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ask } from "./answers";
import { call, type Job, RequestError, startJob } from "./api";
import { blame } from "./ir";
import { formatLink, parseLink } from "./link";
import type {
  Action,
  Diagnostic,
  Info,
  Metrics,
  Path,
  Pipeline,
  Program,
  RankRow,
  Source,
} from "./messages";
import { ActionPanel, type Objective, ObjectiveChoice, SearchPanel, TreePanel } from "./panels";
import { recording } from "./recording";
import { useStable } from "./stable";
import { branch, idOf, knownLength, leavesOf, newTree, ROOT, type Tree, withSteps } from "./tree";
import { COMPARING, TABS, type Tab, View } from "./views";

// A page that was opened from disk holds one program.
const ProgramDialog = __OFFLINE__ ? null : lazy(() => import("./editor"));
const LEVELS = ["O1", "O2", "O3", "Os", "Oz"];
/** The keys of the views, in their order. */
const KEYS = "1234567890-=";
const BEFORE = "before";
/** The views that show the IR of the state to compare with. */
const WITH_BASE_IR: readonly Tab[] = ["Change", "Graphs"];
const NO_ACTIONS: Action[] = [];
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
  const rankingJob = useRef<Job | null>(null);
  const [base, setBase] = useState(BEFORE);
  const [isRanking, setIsRanking] = useState(false);
  const visit = useRef(0);

  const shorts = useMemo(
    () =>
      new Map([...(info?.actions ?? []), ...(info?.pipelines ?? [])].map((a) => [a.name, a.short])),
    [info],
  );

  const endRanking = useCallback(() => {
    rankingJob.current?.stop();
    rankingJob.current = null;
    setRanking(NO_RANKING);
  }, []);

  const present = useRef({ program, tree, irs });
  present.current = { program, tree, irs };

  /** Goes to a state, and adds it to the tree. */
  const goTo = useCallback(
    async (of: Program, from: Tree, actions: string[], push = true) => {
      const number = ++visit.current;
      endRanking();
      setBusy(true);
      setError(null);
      try {
        const first = knownLength(from, actions);
        const { program: shown, irs: seen } = present.current;
        const ir = shown === of && first === actions.length ? seen.get(idOf(actions)) : undefined;
        // The address changes together with the page, so that a reload shows the same.
        const [found, link] = await Promise.all([
          ir !== undefined
            ? { steps: [], ir }
            : ask<Path>(of, "path", { program: of.id, actions, first }),
          formatLink({ name: of.name, source: of.source, actions }),
        ]);
        if (number !== visit.current) return;
        const id = idOf(actions);
        setTree((former) =>
          withSteps({ ...from, ...former }, actions.slice(0, first), found.steps),
        );
        setIrs((former) => new Map(former).set(id, found.ir));
        setCurrent(id);
        if (link !== location.hash && !recording)
          history[push ? "pushState" : "replaceState"](null, "", link);
      } catch (problem) {
        if (number === visit.current) setError((problem as Error).message);
      } finally {
        if (number === visit.current) setBusy(false);
      }
    },
    [endRanking],
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
        setBase(BEFORE);
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
  useEffect(() => {
    const follow = async (facts: Info) => {
      try {
        const link = recording
          ? {
              name: recording.program.name,
              source: null,
              actions: recording.steps.map((each) => each.action),
            }
          : await parseLink(location.hash);
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

  // The state that the present one is compared with.
  const baseNode = base === BEFORE ? tree[node?.parent ?? "none"] : tree[base];
  // The IR of that state, and with blame that of each step that changed something.
  const needed = useMemo(() => {
    if (tab === "Blame") return nodes.filter((each) => !each.step || each.step.changed);
    return WITH_BASE_IR.includes(tab) && baseNode ? [baseNode] : [];
  }, [tab, nodes, baseNode]);
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
  }, [needed, irs, program, current]);

  useEffect(() => {
    if (!program || !["Charts", "Features"].includes(tab)) return;
    const next = nodes.toReversed().find((each) => !metrics.has(each.id));
    if (!next) return;
    ask<Metrics>(program, "metrics", { program: program.id, actions: next.actions }).then(
      (found) => setMetrics((former) => new Map(former).set(next.id, found)),
      (problem) => setError(problem.message),
    );
  }, [program, tab, nodes, metrics]);

  const apply = useStable((names: string[], start?: string[]) => {
    if (program) goTo(program, tree, [...(start ?? node?.actions ?? []), ...names]);
  });
  const go = useStable((id: string) => {
    if (program) goTo(program, tree, tree[id]?.actions ?? []);
  });
  const applyName = useStable((name: string) => apply([name]));
  const takeBranch = useStable((actions: string[]) => apply(actions, []));
  const applyText = useStable(async (text: string) => {
    try {
      apply((await call<Pipeline>("pipeline", { text })).actions);
    } catch (problem) {
      setError((problem as Error).message);
    }
  });
  const applyPolicy = async () => {
    if (!program) return;
    setBusy(true);
    try {
      const body = { program: program.id, policy: "pieces45" };
      takeBranch((await ask<Pipeline>(program, "policy", body)).actions);
    } catch (problem) {
      setError((problem as Error).message);
      setBusy(false);
    }
  };
  const undo = useStable(() => {
    if (node && node.parent !== null) go(node.parent);
  });

  const rank = () => {
    if (!program || !node) return;
    endRanking();
    setIsRanking(true);
    const body = { program: program.id, actions: node.actions, objective };
    const job = startJob<RankRow>(
      "rank",
      body,
      (row) => setRanking((former) => new Map(former).set(row.action, row)),
      (problem) => {
        setIsRanking(false);
        if (problem) setError(problem);
      },
    );
    rankingJob.current = job;
  };

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (target.closest("input, select, textarea, dialog, [contenteditable]")) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search-actions")?.focus();
      else if (event.key === "u") undo();
      else if (event.key === "r") document.getElementById("rank")?.click();
      else if (event.key === "p") setChoosing(!recording);
      else if (KEYS.includes(event.key)) setTab(TABS[KEYS.indexOf(event.key)] ?? "Change");
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
  const isBaseKnown = !baseNode || !WITH_BASE_IR.includes(tab) || irs.has(baseNode.id);
  const root = tree[ROOT];

  return (
    <>
      <header>
        <h1>CompilerGym explorer</h1>
        {recording ? (
          <span>{program?.name}, a saved branch</span>
        ) : (
          <button type="button" onClick={() => setChoosing(true)} title="Choose a program (p)">
            {program ? `Program: ${program.name}` : "Choose a program"}
          </button>
        )}
        <button type="button" disabled={!node || node.parent === null} onClick={undo} title="u">
          Undo
        </button>
        <span className="row levels" hidden={recording !== null}>
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
          <button
            type="button"
            disabled={!program}
            onClick={applyPolicy}
            title="At most 45 passes that were learnt from other programs, each kept only if it helps"
          >
            Policy
          </button>
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
          <p className="row rank" hidden={recording !== null}>
            <button id="rank" type="button" disabled={!node || isLevel} onClick={rank} title="r">
              {isRanking ? "Ranking…" : "Which pass next?"}
            </button>
            <ObjectiveChoice value={objective} set={setObjective} />
          </p>
          {!recording && (
            <ActionPanel
              actions={info?.actions ?? NO_ACTIONS}
              ranking={ranking}
              disabled={!node || isLevel}
              apply={applyName}
              applyText={applyText}
            />
          )}
          {isLevel && (
            <p className="hint">
              This branch is a whole pipeline. Go to another state to apply passes.
            </p>
          )}
          <TreePanel tree={tree} current={current} shorts={shorts} busy={busy} go={go} />
        </div>
        <div className="right">
          <div className="tabs">
            <div role="tablist" aria-label="Views">
              {TABS.map((name, i) => (
                <button
                  key={name}
                  id={`tab-${name}`}
                  type="button"
                  role="tab"
                  aria-selected={tab === name}
                  tabIndex={tab === name ? 0 : -1}
                  title={`Key ${KEYS[i]}`}
                  onClick={() => setTab(name)}
                  onKeyDown={(event) => {
                    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
                    const next = by && TABS[(i + by + TABS.length) % TABS.length];
                    if (!next) return;
                    setTab(next);
                    document.getElementById(`tab-${next}`)?.focus();
                  }}
                >
                  {name}
                </button>
              ))}
            </div>
            {COMPARING.includes(tab) && node && (
              <label className="base">
                against{" "}
                <select value={base} onChange={(event) => setBase(event.target.value)}>
                  <option value={BEFORE}>the state before</option>
                  <option value={ROOT}>the program</option>
                  {leavesOf(tree)
                    .filter((leaf) => leaf.id !== current && leaf.id !== ROOT)
                    .map((leaf) => (
                      <option key={leaf.id} value={leaf.id}>
                        {leaf.actions.map((name) => shorts.get(name) ?? name).join(", ")}
                      </option>
                    ))}
                </select>
              </label>
            )}
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard */}
          <div role="tabpanel" aria-label={tab} className="view" aria-busy={busy} tabIndex={0}>
            {program && node && info && ir !== undefined && isBaseKnown && (
              <View
                tab={tab}
                setTab={setTab}
                info={info}
                program={program}
                node={node}
                nodes={nodes}
                base={baseNode}
                ir={ir}
                baseIr={baseNode ? (irs.get(baseNode.id) ?? null) : null}
                metrics={metrics}
                shorts={shorts}
                blamed={blamed}
                blamedNodes={needed}
                isLevel={isLevel}
                go={go}
              />
            )}
            {/* A search goes on while other tabs are looked at. */}
            {program && !recording && (
              <div hidden={tab !== "Search"}>
                <SearchPanel
                  key={program.id}
                  program={program.id}
                  maxSeconds={info?.max_search_seconds ?? 60}
                  take={takeBranch}
                />
              </div>
            )}
          </div>
        </div>
      </main>
      {choosing && info && ProgramDialog && (
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
