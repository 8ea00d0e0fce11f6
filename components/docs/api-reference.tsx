import { Fragment } from "react";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { JsonSchema, OpenApiDocument, OpenApiOperation, OpenApiParameter } from "@/lib/contract/openapi";
import { requiredFields, schemaWords } from "@/lib/prepare/schema-words";

function Parameters({ parameters, of }: { parameters: readonly OpenApiParameter[]; of: string }) {
  return parameters.length === 0 ? null : (
    <ScrollRegion label={`Parameters of ${of}`}>
      <table className="plain">
        <caption className="sr-only">Parameters of {of}</caption>
        <thead>
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">In</th>
            <th scope="col">Form</th>
            <th scope="col">What it asks for</th>
          </tr>
        </thead>
        <tbody>
          {parameters.map(({ name, in: place, required, schema, description }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>{place}</td>
              <td>
                {schemaWords(schema)}
                {required ? ", required" : ""}
              </td>
              <td>{description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function Answer({ operation }: { operation: OpenApiOperation }) {
  const given = Object.entries(operation.responses["200"].content);
  return given.map(([type, { schema }]) => (
    <p key={type} className="aside">
      Answers <code>{type}</code>
      {schema ? (
        <>
          {": "}
          <SchemaLink schema={schema} />
        </>
      ) : null}
    </p>
  ));
}

function SchemaLink({ schema }: { schema: JsonSchema }) {
  const words = schemaWords(schema);
  return <a href={`#schema-${words}`}>{words}</a>;
}

function Fields({ name, schema }: { name: string; schema: JsonSchema }) {
  const fields = Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>);
  const required = requiredFields(schema);
  return (
    <section id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
      <h3 id={`schema-${name}-title`}>{name}</h3>
      {fields.length === 0 ? (
        <p>{schemaWords(schema)}</p>
      ) : (
        <dl className="facts">
          {fields.map(([field, form]) => (
            <Fragment key={field}>
              <dt>
                <code>{field}</code>
              </dt>
              <dd>
                {schemaWords(form)}
                {required.has(field) ? "" : ", may be absent"}
              </dd>
            </Fragment>
          ))}
        </dl>
      )}
    </section>
  );
}

/** The reference of the public interface, made from its document alone. */
export function ApiReference({ document }: { document: OpenApiDocument }) {
  return (
    <>
      <div className="page-head">
        <h1>API</h1>
        <p className="lead">{document.info.description}</p>
      </div>
      <div className="prose">
        <p>
          The whole interface as <a href="/api/v1/openapi.json">OpenAPI 3.1</a>. Answers carry an <code>ETag</code>; ask
          with <code>If-None-Match</code> to be told that nothing changed. A refusal has a status from 400 on and one
          form, <a href="#schema-Problem">Problem</a>: a stable code, what is wrong, where, which rule it breaks and how
          to mend it. Fields may be added to answers; none changes its meaning within v1.
        </p>
        <p>
          Beside it: <a href="/feed.xml">new and changed results as Atom</a>;{" "}
          <code>/badge/&lt;entry or submission&gt;.svg</code>, a row’s rank set and % resolved as a picture; the{" "}
          <a href="/log/checkpoint">log’s checkpoint</a> and <a href="/.well-known/infradev-keys.json">public keys</a>.
        </p>
      </div>
      <h2 id="operations">Operations</h2>
      {Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => (
          <section key={operation.operationId} id={operation.operationId} className="operation">
            <h3>
              <code>
                {method.toUpperCase()} {path}
              </code>
            </h3>
            <p>{operation.summary}</p>
            <Parameters parameters={operation.parameters} of={`${method.toUpperCase()} ${path}`} />
            <Answer operation={operation} />
          </section>
        )),
      )}
      <h2 id="schemas">Forms</h2>
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <Fields key={name} name={name} schema={schema} />
      ))}
    </>
  );
}
