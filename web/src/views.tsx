/** What the page shows about a state, by view. */

import { memo, useState } from "react";
import { CodePanel, SizesPanel } from "./code";
import { GraphPanel } from "./graphs";
import { type Blame, compare } from "./ir";
import { IrView } from "./irview";
import type { Info, Metrics, Program } from "./messages";
import { CausesPanel, Charts, ExportPanel, Features } from "./panels";
import { RemarksPanel, SourcePanel } from "./source";
import type { Node } from "./tree";

const ALL = [
  "Change",
  "Blame",
  "Source",
  "Code",
  "Sizes",
  "Graphs",
  "Remarks",
  "Charts",
  "Features",
  "Causes",
  "Search",
  "Export",
] as const;
export type Tab = (typeof ALL)[number];

/** The views; a page that was opened from disk has no others than these. */
export const TABS = __OFFLINE__ ? ALL.filter((tab) => tab !== "Causes" && tab !== "Search") : ALL;

/** The views that compare two states. */
export const COMPARING: readonly Tab[] = ["Change", "Code", "Sizes", "Graphs"];

interface Props {
  tab: Tab;
  setTab: (tab: Tab) => void;
  info: Info;
  program: Program;
  node: Node;
  nodes: Node[];
  base: Node | undefined;
  ir: string;
  baseIr: string | null;
  metrics: ReadonlyMap<string, Metrics>;
  shorts: ReadonlyMap<string, string>;
  blamed: Blame | null;
  blamedNodes: Node[];
  isLevel: boolean;
  go: (id: string) => void;
}

export const View = memo(function View(props: Props) {
  const { tab, setTab, info, program, node, nodes, base, ir, baseIr, metrics, shorts, go } = props;
  const [name, setName] = useState<string | null>(null);
  const [line, setLine] = useState<number | null>(null);
  const show = (to: Tab) => (what: string | number) => {
    if (typeof what === "string") setName(what);
    else setLine(what);
    setTab(to);
  };
  switch (tab) {
    case "Change":
    case "Blame":
      return (
        <>
          <Summary
            node={node}
            tab={tab}
            ready={tab === "Change" || props.blamed !== null}
            base={base}
          />
          <IrView
            key={`${node.id}${tab}${base?.id}${props.blamed !== null}`}
            before={tab === "Blame" ? null : baseIr}
            after={ir}
            blamed={props.blamed}
            labels={props.blamedNodes.map((each) =>
              each.step
                ? `${each.actions.length}. ${shorts.get(each.step.action) ?? each.step.action}`
                : "",
            )}
          />
        </>
      );
    case "Source":
      return <SourcePanel program={program} node={node} ir={ir} line={line} setLine={setLine} />;
    case "Code":
      return <CodePanel program={program} node={node} base={base} name={name} setName={setName} />;
    case "Sizes":
      return <SizesPanel program={program} node={node} base={base} open={show("Code")} />;
    case "Graphs":
      return <GraphPanel before={baseIr} after={ir} changed={changedNames(props)} />;
    case "Remarks":
      return <RemarksPanel program={program} node={node} open={show("Source")} />;
    case "Charts":
      return <Charts nodes={nodes} metrics={metrics} shorts={shorts} go={go} />;
    case "Features":
      return (
        <Features
          names={info.autophase}
          now={metrics.get(node.id)}
          before={node.parent === null ? undefined : metrics.get(node.parent)}
        />
      );
    case "Causes":
      if (props.isLevel) return <p className="hint">A whole pipeline is one step.</p>;
      return <CausesPanel program={program.id} node={node} shorts={shorts} />;
    case "Export":
      return <ExportPanel program={program} node={node} nodes={nodes} />;
    case "Search":
      return null; // It stays on the page, so that it goes on.
  }
});

function changedNames({ node, base, baseIr, ir }: Props): string[] {
  if (!base || baseIr === null) return [];
  if (base.id === node.parent) return node.step?.functions_changed ?? [];
  return compare(baseIr, ir, new Set()).changed;
}

function Summary(props: { node: Node; tab: Tab; ready: boolean; base: Node | undefined }) {
  const { step } = props.node;
  if (!props.ready) return <p className="hint">Comparing the versions of this branch…</p>;
  if (props.tab === "Blame")
    return (
      <p className="hint">
        Each line has the steps that made and changed it, the last one in bold. Others are as in the
        program.
      </p>
    );
  if (props.base && props.base.id !== props.node.parent)
    return (
      <p className="hint">
        On the left the other state, with {props.base.instructions.toLocaleString("en")}{" "}
        instructions; on the right this one.
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
