import { type Box, layout } from "./layout";

addEventListener("message", (event: MessageEvent<[Box[], [string, string][]]>) => {
  postMessage(layout(...event.data));
});
