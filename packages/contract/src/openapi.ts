// Prints the endpoint table as OpenAPI 3.1. TypeBox schemas are JSON Schema already, so this file
// only gathers them: schemas with `$id` become components, all others stand where they are used.
// The print is checked in as openapi.json, and a test proves that it is fresh.

import { endpointList } from './endpoints/index.ts';
import type { Auth, Endpoint } from './endpoint.ts';
import { errors } from './errors.ts';
import { Problem } from './schemas/shapes.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const TAGS: ReadonlyArray<readonly [prefix: string, tag: string]> = [
  ['/api/v1/agent/ingest', 'Ingest'],
  ['/api/v1/agent', 'Runner'],
  ['/api/v2', 'Runner'],
  ['/api/v1', 'Operator'],
  ['/', 'Service'],
];

const SECURITY: Record<Auth['kind'], Json> = {
  none: [],
  runner: [{ runnerKey: [] }, { runnerKeyHeader: [] }],
  operator: [{ operatorToken: [] }],
  enrolment: [{ enrolmentToken: [] }],
};

/** The whole description, as a plain JSON value with a stable order of members. */
export function printOpenApi(version: string): { [name: string]: Json } {
  const components = new Map<string, Json>();
  const schema = (value: unknown): Json => gather(value, components);
  schema(Problem);
  const paths: { [path: string]: { [method: string]: Json } } = {};
  for (const endpoint of endpointList) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = operation(endpoint, schema);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version,
      summary: 'Where security-scan runners report in',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        runnerKey: { type: 'http', scheme: 'bearer', description: 'a runner key, `mst_rnr_…`' },
        runnerKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        operatorToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'an operator token, `mst_op_…`',
        },
        enrolmentToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'an enrolment token, `mst_enr_…`',
        },
      },
    },
  };
}

function operation(endpoint: Endpoint, schema: (value: unknown) => Json): Json {
  const parameters: Json[] = [];
  for (const [where, object] of [
    ['path', endpoint.params],
    ['query', endpoint.query],
  ] as const) {
    for (const [name, value] of Object.entries(object?.properties ?? {})) {
      const required = where === 'path' || (object?.required ?? []).includes(name as never);
      parameters.push({ name, in: where, required, schema: schema(value) });
    }
  }
  const responses: { [status: string]: Json } = {};
  for (const [status, reply] of Object.entries(endpoint.replies)) {
    const type = endpoint.replyType ?? 'application/json';
    responses[status] = {
      description: Number(status) < 300 ? 'done' : 'not served',
      content: { [type]: { schema: schema(reply) } },
    };
  }
  for (const [status, codes] of errorsByStatus(endpoint)) {
    responses[status] = {
      description: codes.map((code) => `\`${code}\`: ${errors[code].title}`).join('; '),
      content: { 'application/problem+json': { schema: schema(Problem) } },
    };
  }
  return {
    operationId: endpoint.id,
    tags: [TAGS.find(([prefix]) => endpoint.path.startsWith(prefix))?.[1] ?? 'Service'],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    security: SECURITY[endpoint.auth.kind],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: endpoint.bodyKind !== 'lenient',
            content: { 'application/json': { schema: schema(endpoint.body) } },
          },
        }),
    responses,
  };
}

function errorsByStatus(endpoint: Endpoint): Map<string, Endpoint['errors'][number][]> {
  const byStatus = new Map<string, Endpoint['errors'][number][]>();
  for (const code of endpoint.errors) {
    const status = String(errors[code].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

/**
 * Copies a schema as plain JSON, moving every one with `$id` into components and leaving a `$ref`.
 */
function gather(value: unknown, components: Map<string, Json>): Json {
  if (Array.isArray(value)) return value.map((item) => gather(item, components));
  if (typeof value !== 'object' || value === null) return value as Json;
  const { $id, $ref, ...rest } = value as { $id?: string; $ref?: string };
  if (typeof $ref === 'string') return { $ref: `#/components/schemas/${$ref}` };
  const copy = (): Json =>
    Object.fromEntries(
      Object.entries(rest).map(([name, item]) => [name, gather(item, components)]),
    );
  if (typeof $id !== 'string') return copy();
  if (!components.has($id)) {
    components.set($id, null);
    components.set($id, copy());
  }
  return { $ref: `#/components/schemas/${$id}` };
}
