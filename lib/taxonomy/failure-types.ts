import type { Property } from "@/lib/contract/vocabulary";

export type FailureType = { class: string; type: string; meaning: string };

/** Version of the types and of the rules that assign them; a change of either raises it. */
export const taxonomyVersion = "1.0.0";

/** The failure taxonomy: data, never an enum, so that a later version may split a type. */
export const failureTypes = [
  {
    class: "structural",
    type: "execution-api",
    meaning: "exception, import or collection failure, missing or wrong interface, crash, hang",
  },
  { class: "structural", type: "shape-layout-dtype", meaning: "wrong shape, memory layout, stride or dtype" },
  {
    class: "structural",
    type: "state-lifecycle",
    meaning: "wrong state carried, initialized, saved, restored, freed",
  },
  { class: "behavioral", type: "resource", meaning: "memory, speed or traffic limit missed" },
  {
    class: "behavioral",
    type: "condition-specific",
    meaning: "right in general, wrong under one configuration (world size, parallel layout, flag, edge input)",
  },
  { class: "behavioral", type: "value", meaning: "wrong result in general" },
] as const satisfies readonly FailureType[];

/** The type that an assertion of each property fails under, and the tag that keeps the finer word. */
export const typeOfProperty: Record<Property, { type: (typeof failureTypes)[number]["type"]; tags: string[] }> = {
  value: { type: "value", tags: [] },
  "shape-layout-dtype": { type: "shape-layout-dtype", tags: [] },
  "state-lifecycle": { type: "state-lifecycle", tags: [] },
  "resource.memory": { type: "resource", tags: ["memory"] },
  "resource.speed": { type: "resource", tags: ["speed"] },
  "resource.traffic": { type: "resource", tags: ["traffic"] },
  condition: { type: "condition-specific", tags: [] },
};
