import { useCallback, useRef } from "react";

/** Returns a function that never changes and calls the present one, so that parts of the page that
 * have it as a property are not drawn again. Not to be called while drawing. */
export function useStable<A extends unknown[], R>(present: (...args: A) => R): (...args: A) => R {
  const latest = useRef(present);
  latest.current = present;
  return useCallback((...args: A) => latest.current(...args), []);
}
