/** Requests to the server. */

import type { Cause, Problem, RankRow, SearchPoint } from "./messages";
import { recordedAnswer, recording } from "./recording";

export class RequestError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

export const DISCONNECTED = "No connection to the server. Is compiler-gym explore running?";

export async function call<T>(name: string, body?: object, signal?: AbortSignal): Promise<T> {
  if (recording) return recordedAnswer(recording, name, body) as T;
  let reply: Response;
  try {
    reply = await fetch(`api/${name}`, {
      method: body ? "POST" : "GET",
      headers: { "content-type": "application/json" },
      body: body && JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error(DISCONNECTED);
  }
  if (!reply.ok) throw new RequestError(await reply.json());
  return await reply.json();
}

export type JobMessage = RankRow | SearchPoint | Cause;

export interface Job {
  stop: () => void;
  /** Makes the job wait, or go on. */
  send: (order: "pause" | "resume") => void;
}

/** Starts a job. `onEnd` gets the error with which it ended, if any. */
export function startJob<T extends JobMessage>(
  name: string,
  body: object,
  onMessage: (message: T) => void,
  onEnd: (error: string | null) => void,
): Job {
  const address = new URL(`api/${name}`, location.href.split("#")[0]);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  let ended = false;
  const end = (error: string | null) => {
    if (ended) return;
    ended = true;
    socket.close();
    onEnd(error);
  };
  socket.onopen = () => socket.send(JSON.stringify(body));
  socket.onmessage = (event) => {
    if (ended) return;
    const message = JSON.parse(event.data);
    if (message.type === "done") end(null);
    else if (message.type === "failed") end(message.problem.message);
    else onMessage(message);
  };
  socket.onclose = () => end(DISCONNECTED);
  return { stop: () => end(null), send: (order) => socket.send(order) };
}
