// Commands: the work that runners are asked to do, who holds it and how it ended. New commands are
// made from here.

import { COMMAND_STATUSES, type Command, endpoints } from '@muster/contract';
import { REFRESH_MS, request, useList, useMayChange } from '../api.ts';
import { CancelCommandButton, isCancelable } from '../components/commands/cancel-command.tsx';
import type { Column } from '../components/data-table.tsx';
import { ChoiceFilter, FilterBar, PinnedFilter, TextFilter } from '../components/filters.tsx';
import { Foreign } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { ListView } from '../components/list-view.tsx';
import { NewCommandButton } from '../components/commands/new-command.tsx';
import { RunnerLink } from '../components/runners/runner-link.tsx';
import { StateTag } from '../components/findings/tags.tsx';
import { Time } from '../components/time.tsx';
import { words } from '../format.ts';
import { hrefTo, wordOf } from '../route.ts';

const readColumns: readonly Column<Command>[] = [
  {
    id: 'type',
    header: 'Command',
    cell: ({ row: { original: command } }) => (
      <>
        <a href={hrefTo('commands', command.id)}>
          <Foreign text={command.type} />
        </a>
        <span className="under">priority {command.priority}</span>
      </>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    cell: ({ row: { original: command } }) => (
      <>
        <StateTag state={command.status} />
        <Why command={command} />
      </>
    ),
  },
  {
    id: 'runner',
    header: 'Runner',
    cell: ({ row: { original: command } }) => {
      const id = command.holder_id ?? command.runner_id;
      return id === null ? <span className="quiet">any</span> : <RunnerLink id={id} />;
    },
  },
  {
    id: 'attempt',
    header: 'Attempt',
    cell: ({ row }) => `${row.original.attempt} of ${row.original.max_attempts}`,
  },
  {
    id: 'created',
    header: 'Created',
    cell: ({ row: { original: command } }) => (
      <>
        <Time iso={command.created_at} />
        <span className="under">
          by <Foreign text={command.created_by} />
        </span>
      </>
    ),
  },
];

const changeColumns: readonly Column<Command>[] = [
  ...readColumns,
  {
    id: 'actions',
    header: 'Stop',
    cell: ({ row: { original: command } }) =>
      isCancelable(command) ? (
        <CancelCommandButton command={command} />
      ) : (
        <span className="quiet">–</span>
      ),
  },
];

function Why({ command }: { readonly command: Command }) {
  const isLeaving = command.cancel_requested_at !== null && command.completed_at === null;
  const why = isLeaving ? 'asked to stop' : command.reason;
  return why === null ? null : <span className="under">{words(why)}</span>;
}

export function CommandsPage({ filters }: { readonly filters: URLSearchParams }) {
  const mayChange = useMayChange();
  const status = wordOf(COMMAND_STATUSES, filters.get('status'));
  const type = filters.get('type');
  const runnerId = filters.get('runner_id');
  const query = {
    ...(status === undefined ? {} : { status }),
    ...(type === null ? {} : { type }),
    ...(runnerId === null ? {} : { runner_id: runnerId }),
  };
  const list = useList(
    ['commands', query],
    (page, signal) => request(endpoints.listCommands, { query: { ...query, ...page }, signal }),
    REFRESH_MS,
  );
  const filter = { page: 'commands', filters } as const;
  return (
    <>
      <Heading title="Commands" lead="What runners are asked to do.">
        {mayChange ? <NewCommandButton /> : undefined}
      </Heading>
      <FilterBar>
        <ChoiceFilter {...filter} name="status" label="Status" options={COMMAND_STATUSES} />
        <TextFilter {...filter} name="type" label="Type" />
        <PinnedFilter {...filter} name="runner_id" label="Runner">
          {runnerId === null ? null : <RunnerLink id={runnerId} />}
        </PinnedFilter>
      </FilterBar>
      <ListView
        list={list}
        columns={mayChange ? changeColumns : readColumns}
        rowHeader="type"
        noun="command"
        isFiltered={Object.keys(query).length > 0}
        clearHref={hrefTo('commands')}
        empty={<NoCommand mayChange={mayChange} />}
      />
    </>
  );
}

function NoCommand({ mayChange }: { readonly mayChange: boolean }) {
  return (
    <>
      <h2>No command yet</h2>
      <p>
        A command tells a runner to scan, to collect or to check itself. Runners fetch it with their
        next poll.
      </p>
      <p>
        {mayChange
          ? 'Create the first one with “New command” above.'
          : 'Your role is viewer: an analyst or admin can create one.'}
      </p>
    </>
  );
}
