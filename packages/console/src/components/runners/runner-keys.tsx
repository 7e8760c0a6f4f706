// The keys of a runner, for admins: the state of each, when and from where it was last used, and
// the buttons that roll and revoke it. A rolled key's successor is shown once.

import { type ApiKey, endpoints } from '@muster/contract';
import { useState } from 'react';
import { REFRESH_MS, request, useChange, useList } from '../../api.ts';
import { announce } from '../../notice.ts';
import { ConfirmButtons } from '../confirm-buttons.tsx';
import { CopyBlock } from '../copy-block.tsx';
import { Dialog } from '../dialog.tsx';
import { Section } from '../facts.tsx';
import { ProblemBox } from '../problem-box.tsx';
import { StateTag } from '../findings/tags.tsx';
import { Ago, Time } from '../time.tsx';

const isLive = ({ state }: ApiKey): boolean => state !== 'retired' && state !== 'revoked';

export function KeysSection({ runnerId }: { readonly runnerId: string }) {
  const list = useList(
    ['runner-keys', runnerId],
    (page, signal) =>
      request(endpoints.listKeys, { query: { ...page, runner_id: runnerId }, signal }),
    REFRESH_MS,
  );
  const { items, error } = list;
  return (
    <Section title="Its keys">
      {error === null ? null : (
        <ProblemBox error={error} doing="The keys could not be read" onRetry={list.retry} />
      )}
      {items === undefined ? null : (
        <div className="scroll" tabIndex={0} role="region" aria-label="Keys of this runner">
          <table className="plain roomy">
            <caption className="visually-hidden">Keys of this runner</caption>
            <thead>
              <tr>
                <th scope="col">Key</th>
                <th scope="col">State</th>
                <th scope="col">Created</th>
                <th scope="col">Last used</th>
                <th scope="col">From</th>
                <th scope="col">Ends</th>
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((key) => (
                <KeyRow key={key.key_id} apiKey={key} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list.hasMore ? (
        <button type="button" onClick={list.loadMore}>
          Load more keys
        </button>
      ) : null}
    </Section>
  );
}

function KeyRow({ apiKey }: { readonly apiKey: ApiKey }) {
  const ends = apiKey.retires_at ?? apiKey.expires_at;
  return (
    <tr>
      <th scope="row">
        <code>{apiKey.prefix}…</code>
      </th>
      <td>
        <StateTag state={apiKey.state} />
      </td>
      <td>
        <Time iso={apiKey.created_at} />
      </td>
      <td>{apiKey.last_used_at === null ? 'never' : <Ago iso={apiKey.last_used_at} />}</td>
      <td>{apiKey.last_used_from}</td>
      <td>{ends === null ? 'does not expire' : <Time iso={ends} />}</td>
      <td>{isLive(apiKey) ? <KeyActions apiKey={apiKey} /> : null}</td>
    </tr>
  );
}

function KeyActions({ apiKey }: { readonly apiKey: ApiKey }) {
  const [open, setOpen] = useState<'roll' | 'revoke' | null>(null);
  const close = (): void => setOpen(null);
  return (
    <div className="buttons">
      <button
        type="button"
        onClick={() => setOpen('roll')}
        aria-label={`Roll the key ${apiKey.prefix}`}
      >
        Roll…
      </button>
      <button
        type="button"
        onClick={() => setOpen('revoke')}
        aria-label={`Revoke the key ${apiKey.prefix}`}
      >
        Revoke…
      </button>
      {open === 'roll' ? (
        <Dialog title="Roll this key" onClose={close}>
          <Roll apiKey={apiKey} onClose={close} />
        </Dialog>
      ) : null}
      {open === 'revoke' ? (
        <Dialog title="Revoke this key?" onClose={close}>
          <Revoke apiKey={apiKey} onClose={close} />
        </Dialog>
      ) : null}
    </div>
  );
}

interface ActionProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

function Roll({ apiKey, onClose }: ActionProps) {
  const [secret, setSecret] = useState<string | null>(null);
  const roll = useChange(
    () => request(endpoints.rollKey, { params: { id: apiKey.key_id }, body: {} }),
    ['runner-keys'],
    ({ api_key: made }) => {
      setSecret(made);
      announce('The new key was made.');
    },
  );
  if (secret !== null) {
    return (
      <>
        <p>Give this key to the runner now: it is not shown again.</p>
        <CopyBlock label="The new key" text={secret} />
        <div className="buttons">
          <button type="button" className="primary" onClick={onClose}>
            Done
          </button>
        </div>
      </>
    );
  }
  return (
    <>
      <p>
        A new key with the same scopes is made. <code>{apiKey.prefix}…</code> stays good until 15
        minutes after the new one was first used.
      </p>
      <ConfirmButtons
        change={roll}
        doing="No key was made"
        confirm="Make the new key"
        leave="Cancel"
        onLeave={onClose}
      />
    </>
  );
}

function Revoke({ apiKey, onClose }: ActionProps) {
  const revoke = useChange(
    () => request(endpoints.revokeKey, { params: { id: apiKey.key_id } }),
    ['runner-keys'],
    () => {
      announce('The key is revoked.');
      onClose();
    },
  );
  return (
    <>
      <p>
        Whoever uses <code>{apiKey.prefix}…</code> is refused within a second, for good.
      </p>
      <ConfirmButtons
        change={revoke}
        doing="The key was not revoked"
        confirm="Revoke the key"
        leave="Keep it"
        onLeave={onClose}
      />
    </>
  );
}
