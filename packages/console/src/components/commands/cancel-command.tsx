// Cancels a command, after a question: work that a runner has begun can't be taken back. Only an
// unfinished command that nobody has canceled yet offers this.

import { type Command, endpoints } from '@muster/contract';
import { useRef, useState } from 'react';
import { request, useChange } from '../../api.ts';
import { useFocusHandover } from '../../focus.ts';
import { announce } from '../../notice.ts';
import { ConfirmButtons } from '../confirm-buttons.tsx';
import { Dialog } from '../dialog.tsx';

export function CancelCommandButton({ command }: { readonly command: Command }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useFocusHandover(button);
  return (
    <>
      <button
        type="button"
        ref={button}
        onClick={() => setOpen(true)}
        aria-label={`Cancel the command ${command.type}`}
      >
        Cancel…
      </button>
      {isOpen ? (
        <Dialog title="Cancel this command?" onClose={() => setOpen(false)}>
          <Question command={command} onClose={() => setOpen(false)} />
        </Dialog>
      ) : null}
    </>
  );
}

/** Whether there is anything left to cancel. */
export function isCancelable({ status, cancel_requested_at: requestedAt }: Command): boolean {
  const isUnfinished = status === 'pending' || status === 'acknowledged' || status === 'running';
  return isUnfinished && requestedAt === null;
}

function Question({
  command,
  onClose,
}: {
  readonly command: Command;
  readonly onClose: () => void;
}) {
  const cancel = useChange(
    () => request(endpoints.cancelCommand, { params: { id: command.id } }),
    ['commands', 'command'],
    ({ status }) => {
      announce(
        status === 'canceled'
          ? 'The command is canceled.'
          : 'The runner is asked to stop the command.',
      );
      onClose();
    },
  );
  return (
    <>
      <p>
        {command.status === 'pending'
          ? `No runner has taken “${command.type}” yet: it is canceled at once.`
          : `A runner holds “${command.type}”: it is asked to stop with its next heartbeat.`}
      </p>
      <ConfirmButtons
        change={cancel}
        doing="The command was not canceled"
        confirm="Cancel the command"
        leave="Keep it"
        onLeave={onClose}
      />
    </>
  );
}
