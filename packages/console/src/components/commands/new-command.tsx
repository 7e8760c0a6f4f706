// Creates a command: for one runner, or for whichever claims it first. The payload is JSON that the
// operator writes; it is checked here before it is sent, so that a typing error is shown beside the
// field.

import { endpoints, type NewCommand, PRIORITIES, type Priority } from '@muster/contract';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { request, useChange, useRunnerNames } from '../../api.ts';
import { textIn } from '../../form-text.ts';
import { sentence } from '../../format.ts';
import { announce } from '../../notice.ts';
import { wordOf } from '../../route.ts';
import { Dialog } from '../dialog.tsx';
import { ProblemBox } from '../problem-box.tsx';

/** The types that the server knows; others pass as they are. */
const KNOWN_TYPES = ['scan', 'collect', 'health_check', 'validate'] as const;

const PRIORITY_USUAL: Priority = 'normal';

export function NewCommandButton() {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        New command…
      </button>
      {isOpen ? (
        <Dialog title="New command" onClose={close}>
          <NewCommandForm onClose={close} />
        </Dialog>
      ) : null}
    </>
  );
}

function NewCommandForm({ onClose }: { readonly onClose: () => void }) {
  const [payloadFault, setPayloadFault] = useState<string | null>(null);
  const create = useChange(
    (body: NewCommand) => request(endpoints.createCommand, { body }),
    ['commands'],
    (command) => {
      announce(`Created: ${command.type}, now ${command.status}.`);
      onClose();
    },
  );
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (create.isPending) return;
    const form = new FormData(event.currentTarget);
    const payload = parsePayload(textIn(form, 'payload'));
    setPayloadFault(payload.fault);
    if (payload.fault === null) create.mutate(commandOf(form, payload.value));
  };
  return (
    <form className="form" onSubmit={submit}>
      <Fields payloadFault={payloadFault} />
      {create.error === null ? null : (
        <ProblemBox error={create.error} doing="The command was not created" />
      )}
      <div className="buttons">
        <button type="submit" className="primary" aria-disabled={create.isPending}>
          {create.isPending ? 'Creating…' : 'Create'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function Fields({ payloadFault }: { readonly payloadFault: string | null }) {
  const id = useId();
  const runners = useRunnerNames();
  return (
    <>
      <Field id={`${id}-type`} label="Type">
        <input
          id={`${id}-type`}
          name="type"
          list={`${id}-types`}
          defaultValue="scan"
          required
          maxLength={64}
          pattern="[a-z][a-z0-9_.\-]*"
          title="Small letters, digits and _ . - , beginning with a letter"
          spellCheck={false}
        />
        <datalist id={`${id}-types`}>
          {KNOWN_TYPES.map((type) => (
            <option key={type} value={type} />
          ))}
        </datalist>
      </Field>
      <Field id={`${id}-runner`} label="Runner">
        <select id={`${id}-runner`} name="runner">
          <option value="">Whichever claims it first</option>
          {[...runners].map(([runnerId, name]) => (
            <option key={runnerId} value={runnerId}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <Field id={`${id}-priority`} label="Priority">
        <select id={`${id}-priority`} name="priority" defaultValue={PRIORITY_USUAL}>
          {PRIORITIES.map((priority) => (
            <option key={priority} value={priority}>
              {sentence(priority)}
            </option>
          ))}
        </select>
      </Field>
      <Field id={`${id}-expires`} label="Expires after, minutes (optional)">
        <input id={`${id}-expires`} name="expires" type="number" min={1} max={525_600} />
      </Field>
      <Field id={`${id}-payload`} label="Payload, JSON (optional)" isWide>
        <textarea
          id={`${id}-payload`}
          name="payload"
          rows={5}
          className="code"
          spellCheck={false}
          placeholder={'{ "scanner": "semgrep", "target": "https://github.com/example/shop" }'}
          aria-invalid={payloadFault !== null}
          aria-describedby={`${id}-fault`}
        />
        <p id={`${id}-fault`} role="alert" className="fault">
          {payloadFault}
        </p>
      </Field>
    </>
  );
}

function Field({
  id,
  label,
  isWide = false,
  children,
}: {
  readonly id: string;
  readonly label: string;
  readonly isWide?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <div className={isWide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {children}
    </div>
  );
}

type Payload =
  | { readonly fault: null; readonly value: unknown }
  | { readonly fault: string; readonly value: null };

/** No text means no payload (`undefined`). */
function parsePayload(text: string): Payload {
  if (text === '') return { fault: null, value: undefined };
  try {
    return { fault: null, value: JSON.parse(text) as unknown };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { fault: `This is not JSON: ${error.message}.`, value: null };
  }
}

function commandOf(form: FormData, payload: unknown): NewCommand {
  const runnerId = textIn(form, 'runner');
  const minutes = textIn(form, 'expires');
  const priority = wordOf(PRIORITIES, textIn(form, 'priority'));
  return {
    type: textIn(form, 'type'),
    priority: priority ?? PRIORITY_USUAL,
    ...(payload === undefined ? {} : { payload }),
    ...(runnerId === '' ? {} : { runner_id: runnerId }),
    ...(minutes === '' ? {} : { expires_in: Number(minutes) * 60 }),
  };
}
