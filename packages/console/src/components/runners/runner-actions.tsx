// The actions on a runner, for admins: pause it, drain it, let it go on, and shut it out for good.
// Each asks first.

import { endpoints, type Runner } from '@muster/contract';
import { useRef, useState } from 'react';
import { request, useChange } from '../../api.ts';
import { useFocusHandover } from '../../focus.ts';
import { announce } from '../../notice.ts';
import { ConfirmButtons } from '../confirm-buttons.tsx';
import { Dialog } from '../dialog.tsx';

const ACTIONS = {
  pause: {
    endpoint: endpoints.pauseRunner,
    button: 'Pause…',
    title: 'Pause this runner?',
    text: 'It takes no more commands. What it holds goes on, and so do its reports.',
    confirm: 'Pause it',
    done: 'The runner is paused.',
  },
  drain: {
    endpoint: endpoints.drainRunner,
    button: 'Drain…',
    title: 'Drain this runner?',
    text: 'It finishes what it holds and takes no more commands, for a machine that is to go away.',
    confirm: 'Drain it',
    done: 'The runner is draining.',
  },
  resume: {
    endpoint: endpoints.resumeRunner,
    button: 'Resume…',
    title: 'Let this runner go on?',
    text: 'It takes commands again, from its next poll on.',
    confirm: 'Let it go on',
    done: 'The runner goes on.',
  },
  revoke: {
    endpoint: endpoints.revokeRunner,
    button: 'Revoke…',
    title: 'Shut this runner out?',
    text: 'All its keys die within a second, for good. Its findings and uploads stay.',
    confirm: 'Shut it out',
    done: 'The runner is shut out.',
  },
} as const;
type Action = keyof typeof ACTIONS;

export function RunnerActions({ runner }: { readonly runner: Runner }) {
  if (runner.admin === 'revoked') return null;
  return (
    <>
      {runner.admin === 'paused' ? null : <ActionButton runner={runner} action="pause" />}
      {runner.admin === 'draining' ? null : <ActionButton runner={runner} action="drain" />}
      {runner.admin === 'active' ? null : <ActionButton runner={runner} action="resume" />}
      <ActionButton runner={runner} action="revoke" />
    </>
  );
}

function ActionButton({ runner, action }: { readonly runner: Runner; readonly action: Action }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useFocusHandover(button);
  const { button: label, title } = ACTIONS[action];
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" ref={button} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? (
        <Dialog title={title} onClose={close}>
          <Question runner={runner} action={action} onClose={close} />
        </Dialog>
      ) : null}
    </>
  );
}

function Question({
  runner,
  action,
  onClose,
}: {
  readonly runner: Runner;
  readonly action: Action;
  readonly onClose: () => void;
}) {
  const { endpoint, text, confirm, done } = ACTIONS[action];
  const change = useChange(
    () => request(endpoint, { params: { id: runner.id } }),
    ['runner', 'runners', 'runner-keys'],
    () => {
      announce(done);
      onClose();
    },
  );
  return (
    <>
      <p>{text}</p>
      <ConfirmButtons
        change={change}
        doing="Nothing was changed"
        confirm={confirm}
        leave="Leave it as it is"
        onLeave={onClose}
      />
    </>
  );
}
