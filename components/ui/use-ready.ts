import { useSyncExternalStore } from "react";

const never = () => () => {};

/**
 * Whether the framework has taken over this page. A control that works by it carries `data-later` until then, so that
 * `public/later.js` keeps what is done to it.
 */
export function useReady(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}
