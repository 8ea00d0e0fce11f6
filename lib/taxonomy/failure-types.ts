import type { Property } from "@/lib/contract/vocabulary";

export type FailureType = { class: string; type: string; meaning: string };

/** Version of the types; the database holds the types of every version as rows. */
export const taxonomyVersion = "1";

/** Version of the rules that assign types. Any change of what a rule decides raises it, and the past is relabelled. */
export const rulesVersion = "3.0.0";

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
    meaning: "wrong state carried, initialized, saved, restored or freed",
  },
  { class: "behavioral", type: "resource", meaning: "a memory, speed or traffic limit missed" },
  {
    class: "behavioral",
    type: "condition-specific",
    meaning: "right in general, wrong under one configuration: world size, parallel layout, flag, edge input",
  },
  { class: "behavioral", type: "value", meaning: "a wrong result in general" },
] as const satisfies readonly FailureType[];

export type KnownType = (typeof failureTypes)[number]["type"];

/** The type that an assertion of each property fails under, and the tag that keeps the finer word. */
export const typeOfProperty: Record<Property, { type: KnownType; tags: string[] }> = {
  value: { type: "value", tags: [] },
  "shape-layout-dtype": { type: "shape-layout-dtype", tags: [] },
  "state-lifecycle": { type: "state-lifecycle", tags: [] },
  "resource.memory": { type: "resource", tags: ["memory"] },
  "resource.speed": { type: "resource", tags: ["speed"] },
  "resource.traffic": { type: "resource", tags: ["traffic"] },
  condition: { type: "condition-specific", tags: [] },
};
