// muster commands why and logs: the reasons why a command waits, and the lines that its runner
// writes while it works.

import { type CommandLog, type CommandWaiting, endpoints } from '@muster/contract';
import { command } from '../command.ts';
import { LIST } from '../list.ts';
import { flag } from '../options.ts';
import type { Printer } from '../print/printer.ts';
import type { Column } from '../print/table.ts';

type Item = CommandWaiting['items'][number];

const layout = (print: Printer): Column<Item>[] => [
  { title: 'RUNNER', cell: (row) => row.runner_id },
  { title: 'NAME', cell: (row) => row.name, shrink: 'end' },
  {
    title: 'CAN TAKE IT',
    cell: (row) => (row.can_take ? 'yes' : 'no'),
    paint: (cell, row) => print.style(row.can_take ? 'green' : 'yellow', cell),
  },
  {
    title: 'WHY NOT',
    cell: (row) => row.reasons.map(({ detail }) => detail).join(' ') || '-',
    shrink: 'end',
  },
];

export const why = command({
  name: 'commands why',
  summary: 'Show why nobody has taken a command, runner by runner',
  operands: ['ID'],
  options: LIST,
  examples: ['muster commands why 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id], options) => {
    const wanted = options.all ? Number.POSITIVE_INFINITY : (options.limit ?? 50);
    const items: Item[] = [];
    let page: CommandWaiting | null = null;
    do {
      const limit = String(Math.min(250, wanted - items.length));
      const after: string | null = page?.next ?? null;
      const query: { limit: string; after?: string } =
        after === null ? { limit } : { limit, after };
      page = await context.operator(endpoints.commandWaiting, { params: { id }, query });
      items.push(...page.items);
    } while (page.next !== null && items.length < wanted);
    const { print } = context;
    const found = { ...page, items };
    print.result(found, () => headline(print, found) + table(print, items));
    if (page.next !== null)
      print.note(`There are more than these ${items.length} runners: --limit N or --all.`);
  },
});

const table = (print: Printer, items: readonly Item[]): string =>
  items.length === 0 ? '' : print.table(layout(print), items);

function headline(print: Printer, found: CommandWaiting): string {
  if (!found.is_waiting) return print.line(`Command ${found.command_id} is ${found.status}.`);
  if (found.reasons.length > 0) return print.line(found.reasons.map((one) => one.detail).join(' '));
  const able = found.items.filter((item) => item.can_take).length;
  if (found.items.length === 0) return print.line('There are no runners yet.');
  return print.line(
    able === 0
      ? 'None of these runners can take it now.'
      : `${able} of these ${found.items.length} runners can take it, and get it with their next poll.`,
  );
}

/**
 * The server holds an answer back for this time while there are no lines; proxies may end
 * connections that are silent for longer.
 */
const FOLLOW_SECONDS = '30';

export const logs = command({
  name: 'commands logs',
  summary: 'Show the log of a command',
  operands: ['ID'],
  options: { follow: flag('stay, and show lines as they come, until the command has ended') },
  examples: ['muster commands logs 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e --follow'],
  run: async (context, [id], { follow }) => {
    const { print } = context;
    const lines: CommandLog['lines'] = [];
    let page: CommandLog;
    let offset = 0;
    do {
      const query = { offset: String(offset), ...(follow ? { wait: FOLLOW_SECONDS } : {}) };
      page = await context.operator(endpoints.commandLog, { params: { id }, query });
      offset = page.next_offset;
      if (print.isJson) lines.push(...page.lines);
      else for (const { text } of page.lines) print.result(null, () => print.line(text));
    } while (!page.is_complete && (follow || page.lines.length > 0));
    if (print.isJson) print.result({ ...page, lines }, () => '');
    if (page.dropped_lines > 0)
      print.note(`The log is full: ${page.dropped_lines} further lines were not kept.`);
    if (offset === 0 && !print.isJson) print.note('The runner has not written a line.');
  },
});
