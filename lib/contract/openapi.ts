import { z } from "zod";
import { type ApiOperation, apiOperations, listParameters, namedSchemas, type SchemaName } from "./api-operations";

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = { [keyword: string]: unknown };

export interface OpenApiParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description: string;
  schema: JsonSchema;
}

interface OpenApiContent {
  [type: string]: { schema?: JsonSchema };
}

export interface OpenApiOperation {
  operationId: string;
  summary: string;
  parameters: OpenApiParameter[];
  requestBody?: { required: true; content: OpenApiContent };
  responses: Record<"200" | "default", { description: string; content: OpenApiContent }>;
}

export interface OpenApiDocument {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string }[];
  paths: Record<string, Partial<Record<ApiOperation["method"], OpenApiOperation>>>;
  components: { schemas: Record<string, JsonSchema> };
}

const reference = (name: SchemaName): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

function withoutIds({ $id: _id, $schema: _schema, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** The named schemas, each standing by reference wherever another holds it. */
function componentSchemas(): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(namedSchemas)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    io: "output",
    // Answers may gain fields within a version of the interface.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIds(schema as JsonSchema)]));
}

function parametersOf(place: OpenApiParameter["in"], schema: z.ZodObject | undefined): OpenApiParameter[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, ...rest } = withoutIds(z.toJSONSchema(field as z.ZodType, { io: "input" }) as JsonSchema);
    return {
      name,
      in: place,
      required: place === "path" || !(field as z.ZodType).safeParse(undefined).success,
      description: typeof description === "string" ? description : "",
      schema: rest,
    };
  });
}

function operationOf(operation: ApiOperation): OpenApiOperation {
  const { body, answer } = operation;
  return {
    operationId: operation.id,
    summary: operation.summary,
    parameters: [
      ...parametersOf("path", operation.pathParameters),
      ...parametersOf("query", operation.query),
      ...parametersOf("header", operation.headers),
    ],
    ...(body
      ? {
          requestBody: {
            required: true as const,
            content:
              body === "bytes"
                ? { "application/octet-stream": {} }
                : { "application/json": { schema: reference(body) } },
          },
        }
      : {}),
    responses: {
      "200": {
        description: "What was asked for.",
        content: { [answer.type]: answer.schema ? { schema: reference(answer.schema) } : {} },
      },
      default: {
        description: "A refusal: what is wrong, where, which rule it breaks and how to mend it.",
        content: { "application/json": { schema: reference("Problem") } },
      },
    },
  };
}

/** Which parameters are refused; `lib/server/operation.ts` does it. */
const parameterRule =
  "An operation that answers application/json refuses a parameter that it does not list; one that gives an image or a " +
  "file of another type ignores it, so that embedded and shared addresses keep working. A listed parameter that is " +
  `given twice is refused by both, but for ${listParameters.join(" and ")}, whose words may be given one by one.`;

/** The public interface as an OpenAPI 3.1 document, made from the schemas that the server itself answers by. */
export function openApiDocument(version: string): OpenApiDocument {
  const paths: OpenApiDocument["paths"] = {};
  for (const operation of apiOperations)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationOf(operation) };
  return {
    openapi: "3.1.0",
    info: {
      title: "InfraDev",
      version,
      description:
        "Results, evidence and log of the benchmark: every page of the site has a twin under /api/v1. " +
        `Reading needs no key and is open to every origin. ${parameterRule}`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    paths,
    components: { schemas: componentSchemas() },
  };
}
