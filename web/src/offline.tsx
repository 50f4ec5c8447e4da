/** The page of a saved branch. */

import { createRoot } from "react-dom/client";
import { App } from "./app";
import { readRecording } from "./recording";

readRecording().then(() => {
  const root = document.getElementById("root");
  if (root) createRoot(root).render(<App />);
});
