// One finding as a page of names and values. The detail comes as the server stored it, from any
// tool: every member is checked before it is used. Pure.

import type { endpoints, FindingDocument, ReplyOf } from '@muster/contract';
import type { Field } from './printer.ts';
import { jsonText } from './text.ts';
import { minuteOf, momentOf } from './time.ts';

type FindingPage = ReplyOf<typeof endpoints.showFinding>;

export function findingFields(finding: FindingPage, nowMs: number): Field[] {
  const detail = (finding.detail ?? {}) as Partial<FindingDocument>;
  const resolution = finding.resolution === null ? '' : ` (${finding.resolution})`;
  const until =
    finding.accepted_until === null ? '' : ` until ${momentOf(finding.accepted_until, nowMs)}`;
  const line = finding.start_line === null ? '' : `:${finding.start_line}`;
  return [
    ['ID', finding.id],
    ['Title', finding.title],
    ['Message', otherThan([finding.title], detail.message)],
    ['Severity', finding.severity + (finding.severity_overridden ? ' (set by an operator)' : '')],
    [
      'Status',
      `${finding.status}${resolution}${until}, by ${finding.status_by}, ${momentOf(finding.status_at, nowMs)}`,
    ],
    ['Asset', `${finding.asset} (${finding.asset_id})`],
    ['Where', finding.path === null ? null : finding.path + line],
    ['Tool', finding.category === '' ? finding.tool : `${finding.tool}, ${finding.category}`],
    ['Rule', finding.rule_id],
    ['Type', finding.type],
    ['First seen', momentOf(finding.first_seen_at, nowMs)],
    ['Last seen', momentOf(finding.last_seen_at, nowMs)],
    ['Recognised by', finding.matched_by],
    ['Unfinished', finding.unfinished ? 'its first upload is still being processed' : null],
    ...detailFields(detail, finding.title),
    ['Branches', branches(finding)],
    ['History', history(finding)],
  ];
}

/** The text, if it is one and says something else than these. */
const otherThan = (others: readonly unknown[], text: unknown): string | null =>
  typeof text === 'string' && text !== '' && !others.includes(text) ? text : null;

function detailFields(detail: Partial<FindingDocument>, title: string): Field[] {
  const list = (values: unknown): string | null =>
    Array.isArray(values) && values.length > 0 ? values.map(String).join(', ') : null;
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const component = detail.component;
  const place = detail.locations?.[0];
  return [
    ['Weakness', list(detail.cwe)],
    ['Vulnerability', list(detail.vulnerability_ids)],
    [
      'Component',
      component === undefined ? null : `${component.name} ${component.version ?? ''}`.trim(),
    ],
    ['Tags', list(detail.tags)],
    ['Help', text(detail.rule?.help_uri)],
    ['References', list(detail.references)],
    ['Description', otherThan([title, detail.message], detail.description)],
    ['Code', text(place?.context) ?? text(place?.snippet)],
    ['Suppressed', detail.suppressions === undefined ? null : jsonText(detail.suppressions)],
    ['Properties', detail.properties === undefined ? null : jsonText(detail.properties)],
    ['Properties below', bags(detail.property_bags)],
    ['Left out', detail.omitted === undefined ? null : omitted(detail.omitted)],
  ];
}

/** Each bag below the name of the object that has it. */
const bags = (below: unknown): string | null =>
  Object.entries((below ?? {}) as Record<string, unknown>)
    .map(([where, bag]) => `${where}\n${jsonText(bag)}`)
    .join('\n') || null;

const omitted = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} in ${name}`)
    .join(', ');

function branches(finding: FindingPage): string | null {
  if (finding.refs.length === 0) return null;
  const rows = finding.refs.map((ref) => {
    const name = ref.name === '' ? '(unnamed)' : ref.name;
    const commit = ref.last_commit === null ? '' : ` at ${ref.last_commit.slice(0, 12)}`;
    const isDefault = ref.is_default ? ', default' : '';
    return `${name}${isDefault}: ${ref.present ? 'present' : 'gone'}, last seen ${minuteOf(ref.last_seen_at)}${commit}`;
  });
  return rows.join('\n');
}

function history(finding: FindingPage): string | null {
  if (finding.events.length === 0) return null;
  return finding.events
    .map((event) => {
      const { comment } = (event.data ?? {}) as { comment?: unknown };
      const why = typeof comment === 'string' && comment !== '' ? `: ${comment}` : '';
      return `${minuteOf(event.at)}  ${event.kind} by ${event.by}${why}`;
    })
    .join('\n');
}
