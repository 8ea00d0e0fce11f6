import { useSyncExternalStore } from "react";

const never = () => () => {};

/** Whether this page's scripts have taken over: a control that works by them is disabled until then, and loses no click. */
export function useReady(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}
