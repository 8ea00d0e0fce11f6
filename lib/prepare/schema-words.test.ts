import { expect, test } from "vitest";
import { schemaWords } from "./schema-words";

test.each([
  [{ $ref: "#/components/schemas/BoardRow" }, "BoardRow"],
  [{ type: "array", items: { $ref: "#/components/schemas/Share" } }, "list of Share"],
  [{ anyOf: [{ type: "string", format: "uuid" }, { type: "null" }] }, "uuid or null"],
  [{ type: "string", enum: ["asc", "desc"] }, "asc or desc"],
  [{ type: "array", prefixItems: [{ type: "integer" }, { type: "integer" }] }, "[integer, integer]"],
  [{ type: "object", properties: { x: { type: "number" }, y: { type: "number" } } }, "{ x, y }"],
  [{ type: "object", additionalProperties: { type: "string" } }, "map to string"],
  [{}, "any value"],
])("says %j in words", (schema, words) => {
  expect(schemaWords(schema)).toBe(words);
});
