// Turns the OpenAPI description into one readable page: no script, no asset from outside, works in
// print. Texts come from the contract and are escaped all the same.

import { errors } from '@muster/contract';

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { description: string; content?: Readonly<Record<string, { schema: Schema }>> }>
  >;
}

interface Schema {
  readonly [member: string]: unknown;
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => escapes[character] ?? '');

/** Prose of the contract: `code` in back-ticks becomes <code>. */
const prose = (text: string): string => escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');

/** The page and its style sheet, made from the description that printOpenApi printed. */
export function docsPage(description: Readonly<Record<string, unknown>>): {
  html: string;
  css: string;
} {
  const paths = description['paths'] as Readonly<
    Record<string, Readonly<Record<string, Operation>>>
  >;
  const { schemas } = description['components'] as { schemas: Readonly<Record<string, Schema>> };
  const byTag = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0] ?? 'Service';
      byTag.set(tag, [...(byTag.get(tag) ?? []), section(path, method, operation)]);
    }
  }
  const order = ['Runner', 'Ingest', 'Operator', 'Service'];
  const tags = [...byTag.keys()].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const nav = tags.map((tag) => `<li><a href="#tag-${tag}">${tag}</a></li>`).join('');
  const body = tags
    .map((tag) => `<h2 id="tag-${tag}">${tag}</h2>${(byTag.get(tag) ?? []).join('')}`)
    .join('');
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muster API</title><link rel="stylesheet" href="/docs.css"></head><body>
<header><h1>Muster API</h1><p>Version ${escape(String((description['info'] as Schema)['version']))}.
Machine-readable: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<nav aria-label="Sections"><ul>${nav}<li><a href="#errors">Errors</a></li><li><a href="#schemas">Schemas</a></li></ul></nav></header>
<main>${body}${errorList()}${schemaList(schemas)}</main></body></html>
`;
  return { html, css: CSS };
}

function section(path: string, method: string, operation: Operation): string {
  const who = operation.security.map((scheme) => Object.keys(scheme).join('')).join(' or ');
  const parameters = (operation.parameters ?? [])
    .map(
      (parameter) =>
        `<tr><td><code>${escape(parameter.name)}</code></td><td>${escape(parameter.in)}${
          parameter.required ? ', required' : ''
        }</td><td>${schemaText(parameter.schema)}</td></tr>`,
    )
    .join('');
  const bodies = Object.values(operation.requestBody?.content ?? {})
    .map(({ schema }) => `<h4>Body</h4>${schemaText(schema)}`)
    .join('');
  const responses = Object.entries(operation.responses)
    .map(([status, response]) => {
      const content = Object.entries(response.content ?? {})[0];
      const shape =
        content === undefined || Number(status) >= 300 ? '' : schemaText(content[1].schema);
      return `<tr><td><code>${status}</code></td><td>${errorLinks(response.description)}</td><td>${shape}</td></tr>`;
    })
    .join('');
  return `<article id="${escape(operation.operationId)}"><h3><span class="method">${escape(
    method.toUpperCase(),
  )}</span> <code>${escape(path)}</code></h3><p>${prose(operation.summary)}.${
    operation.description === undefined ? '' : ` ${prose(operation.description)}`
  }</p><p class="auth">${who === '' ? 'No key needed.' : `Needs: ${escape(who)}`}</p>${
    parameters === ''
      ? ''
      : `<table><caption>Parameters</caption><tbody>${parameters}</tbody></table>`
  }${bodies}<table><caption>Answers</caption><tbody>${responses}</tbody></table></article>`;
}

/** Links the codes in an answer's description to their entries. */
const errorLinks = (text: string): string =>
  prose(text).replace(/<code>([a-z_]+)<\/code>/g, (whole, code: string) =>
    Object.hasOwn(errors, code) ? `<a href="#error-${code}">${whole}</a>` : whole,
  );

function schemaText(schema: Schema): string {
  const ref = schema['$ref'];
  if (typeof ref === 'string') {
    const name = ref.split('/').at(-1) ?? '';
    return `<a href="#schema-${escape(name)}">${escape(name)}</a>`;
  }
  return `<code>${escape(brief(schema))}</code>${
    typeof schema['description'] === 'string' ? ` ${prose(schema['description'])}` : ''
  }`;
}

/** One line for a small schema; the full one is in openapi.json. */
function brief(schema: Schema): string {
  const ref = schema['$ref'];
  if (typeof ref === 'string') return ref.split('/').at(-1) ?? '';
  if (Array.isArray(schema['enum'])) return schema['enum'].map(String).join(' | ');
  if (Array.isArray(schema['anyOf'])) return (schema['anyOf'] as Schema[]).map(brief).join(' | ');
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (schema['type'] === 'array') return `${brief((schema['items'] ?? {}) as Schema)}[]`;
  if (schema['type'] === 'object') {
    const names = Object.keys((schema['properties'] ?? {}) as Schema);
    return names.length === 0 ? 'object' : `{ ${names.join(', ')} }`;
  }
  return typeof schema['type'] === 'string' ? schema['type'] : 'any';
}

function errorList(): string {
  const rows = Object.entries(errors)
    .map(
      ([code, definition]) =>
        `<tr id="error-${code}"><td><code>${code}</code></td><td>${definition.status}</td><td>${prose(
          definition.title,
        )}. ${prose(definition.action)}</td></tr>`,
    )
    .join('');
  return `<h2 id="errors">Errors</h2><p>Every error is a problem document (RFC 9457) with <code>code</code>,
<code>request_id</code> and, where there is one, the <code>pointer</code> to the place.</p><table><tbody>${rows}</tbody></table>`;
}

function schemaList(schemas: Readonly<Record<string, Schema>>): string {
  const items = Object.entries(schemas).map(([name, schema]) => {
    const members = Object.entries(
      (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>,
    );
    const required = (schema['required'] ?? []) as string[];
    const rows = members
      .map(
        ([member, value]) =>
          `<tr><td><code>${escape(member)}</code>${required.includes(member) ? '' : '?'}</td><td>${schemaText(
            value,
          )}</td></tr>`,
      )
      .join('');
    return `<article id="schema-${escape(name)}"><h3>${escape(name)}</h3><table><tbody>${rows}</tbody></table></article>`;
  });
  return `<h2 id="schemas">Schemas</h2>${items.join('')}`;
}

const CSS = `:root{color-scheme:light dark;--line:#8884;--soft:#8881;--accent:#0a66c2}
@media (prefers-color-scheme:dark){:root{--accent:#6db3ff}}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:1rem}
a{color:var(--accent)}a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
nav ul{display:flex;flex-wrap:wrap;gap:1rem;list-style:none;padding:0}
article{border-top:1px solid var(--line);padding:.5rem 0 1rem;scroll-margin-top:1rem}
h3{margin:.5rem 0;overflow-wrap:anywhere}.method{font-size:.85em;border:1px solid var(--line);border-radius:4px;padding:0 .4em}
table{border-collapse:collapse;width:100%;margin:.5rem 0;display:block;overflow-x:auto}caption{text-align:left;font-weight:600}
td{border-top:1px solid var(--line);padding:.3rem .6rem;vertical-align:top}
code{background:var(--soft);border-radius:3px;padding:0 .25em;overflow-wrap:break-word}.auth{opacity:.8}
tr:target,article:target{background:var(--soft)}
`;
