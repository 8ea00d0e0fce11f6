/** Classes and types of failures, version 1. Data: a later version is added beside it. */
export const taxonomy = {
  version: "1",
  types: [
    {
      type: "execution-api",
      class: "structural",
      title: "Execution / API",
      meaning: "exception, import or collection failure, missing or wrong interface, crash, hang",
    },
    {
      type: "shape-layout-dtype",
      class: "structural",
      title: "Shape / layout / dtype",
      meaning: "wrong shape, memory layout, stride or dtype",
    },
    {
      type: "state-lifecycle",
      class: "structural",
      title: "State / lifecycle",
      meaning: "wrong state carried, initialized, saved, restored or freed",
    },
    {
      type: "resource",
      class: "behavioral",
      title: "Resource (memory, speed, traffic)",
      meaning: "a memory, speed or traffic limit missed",
    },
    {
      type: "condition-specific",
      class: "behavioral",
      title: "Condition-specific behavior",
      meaning: "right in general, wrong under one configuration: world size, parallel layout, flag, edge input",
    },
    { type: "value", class: "behavioral", title: "Value", meaning: "a wrong result in general" },
  ],
} as const;
