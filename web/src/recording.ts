/** A branch as one file: what the server would answer about it is part of the page. */

import { unpack } from "./link";
import type { Info, Path, PathRequest, Program, State, Step } from "./messages";

export interface Recording {
  info: Info;
  program: Program;
  steps: Step[];
  irs: string[];
  /** By request, and by the number of actions. */
  answers: Record<string, unknown[]>;
}

/** The branch that this page shows if it was opened from disk. */
export let recording: Recording | null = null;

/** The element of the page that holds the branch. */
export const ELEMENT = "recording";

/** Reads the branch of this page, if it has one. */
export async function readRecording(): Promise<void> {
  const text = document.getElementById(ELEMENT)?.textContent;
  if (text) recording = JSON.parse(await unpack(text));
}

/** Returns what the server has answered when the page was saved. */
export function recordedAnswer(from: Recording, name: string, body?: object): unknown {
  if (name === "info") return from.info;
  if (name === "program") return from.program;
  const { actions = [] } = (body ?? {}) as Partial<State>;
  const isBranch = actions.every((action, i) => from.steps[i]?.action === action);
  const answer = isBranch ? from.answers[name]?.[actions.length] : undefined;
  if (isBranch && name === "path") {
    const { first = 0 } = body as PathRequest;
    const ir = from.irs[actions.length] ?? "";
    return { steps: from.steps.slice(first, actions.length), ir } satisfies Path;
  }
  if (!answer) throw new Error("This page holds one branch. Others need compiler-gym explore.");
  return answer;
}
