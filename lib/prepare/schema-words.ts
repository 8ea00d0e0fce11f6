type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;
const schemasIn = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** Names of the fields that are never absent. */
export function requiredFields(schema: Schema): Set<string> {
  const names = schema["required"];
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === "string") : []);
}

/** A JSON Schema in a few words: `integer or null`, `list of BoardRow`, `training, inference or rl`. */
export function schemaWords(schema: Schema): string {
  const { $ref: reference, type, format } = schema;
  if (typeof reference === "string") return reference.split("/").at(-1) ?? reference;
  if (schema["const"] !== undefined) return String(schema["const"]);
  const allowed = schema["enum"];
  if (Array.isArray(allowed)) return listed(allowed.map(String));
  const choices = schemasIn(schema["anyOf"] ?? schema["oneOf"]);
  if (choices.length > 0) return listed([...new Set(choices.map(schemaWords))]);
  if (type === "array") {
    const places = schemasIn(schema["prefixItems"]);
    if (places.length > 0) return `[${places.map(schemaWords).join(", ")}]`;
    return isSchema(schema["items"]) ? `list of ${schemaWords(schema["items"])}` : "list";
  }
  if (type === "object") {
    const fields = isSchema(schema["properties"]) ? Object.keys(schema["properties"]) : [];
    if (fields.length > 0) return `{ ${fields.join(", ")} }`;
    const values = schema["additionalProperties"];
    return isSchema(values) && Object.keys(values).length > 0 ? `map to ${schemaWords(values)}` : "object";
  }
  if (typeof format === "string") return format === "date-time" ? "RFC 3339 time" : format;
  return typeof type === "string" ? type : "any value";
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
