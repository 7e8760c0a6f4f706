// Sets the status of a finding: the form, used on the finding's page, and a button that opens it in
// a dialog, used in the list. `accepted` may have an end, after which the server opens the finding
// again.

import { endpoints, FINDING_STATUSES, type Finding, type FindingStatus } from '@muster/contract';
import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react';
import { request, useChange } from '../../api.ts';
import { useFocusHandover } from '../../focus.ts';
import { textIn } from '../../form-text.ts';
import { sentence } from '../../format.ts';
import { announce } from '../../notice.ts';
import { wordOf } from '../../route.ts';
import { Dialog } from '../dialog.tsx';
import { Foreign } from '../foreign.tsx';
import { ProblemBox } from '../problem-box.tsx';

const COMMENT_CHARS_MAX = 4096;

export function StatusForm({
  finding,
  onDone,
  children,
}: {
  readonly finding: Finding;
  readonly onDone: () => void;
  /** More buttons. */
  readonly children?: ReactNode;
}) {
  const [status, setStatus] = useState<FindingStatus>(finding.status);
  const change = useChange(
    (body: ReturnType<typeof changeOf>) =>
      request(endpoints.changeFinding, { params: { id: finding.id }, body }),
    ['findings', 'finding', 'assets'],
    (changed) => {
      announce(`Set to ${sentence(changed.status).toLowerCase()}: ${changed.title}`);
      onDone();
    },
  );
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (!change.isPending) change.mutate(changeOf(status, new FormData(event.currentTarget)));
  };
  return (
    <form className="form" onSubmit={submit}>
      <Fields status={status} onStatus={setStatus} />
      {change.error === null ? null : (
        <ProblemBox error={change.error} doing="The status was not changed" />
      )}
      <div className="buttons">
        <button type="submit" className="primary" aria-disabled={change.isPending}>
          {change.isPending ? 'Setting…' : 'Set status'}
        </button>
        {children}
      </div>
    </form>
  );
}

function Fields({
  status,
  onStatus,
}: {
  readonly status: FindingStatus;
  readonly onStatus: (status: FindingStatus) => void;
}) {
  const id = useId();
  return (
    <>
      <div className="field">
        <label htmlFor={`${id}-status`}>Status</label>
        <select
          id={`${id}-status`}
          value={status}
          onChange={({ target }) => {
            const chosen = wordOf(FINDING_STATUSES, target.value);
            if (chosen !== undefined) onStatus(chosen);
          }}
        >
          {FINDING_STATUSES.map((each) => (
            <option key={each} value={each}>
              {sentence(each)}
            </option>
          ))}
        </select>
      </div>
      {status === 'accepted' ? (
        <div className="field">
          <label htmlFor={`${id}-until`}>Accepted until the end of (optional)</label>
          <input id={`${id}-until`} name="until" type="date" />
        </div>
      ) : null}
      <div className="field wide">
        <label htmlFor={`${id}-comment`}>Comment (optional)</label>
        <textarea
          id={`${id}-comment`}
          name="comment"
          rows={2}
          maxLength={COMMENT_CHARS_MAX}
          aria-describedby={`${id}-hint`}
        />
        <p id={`${id}-hint`} className="quiet">
          Stands in the history. The decision survives the next scans.
        </p>
      </div>
    </>
  );
}

/** The end of the day is the operator's own midnight: a date alone has no zone. */
function changeOf(status: FindingStatus, form: FormData) {
  const comment = textIn(form, 'comment');
  const day = textIn(form, 'until');
  return {
    status,
    ...(comment === '' ? {} : { comment }),
    ...(day === '' ? {} : { accepted_until: new Date(`${day}T23:59:59.999`).toISOString() }),
  };
}

export function StatusButton({ finding }: { readonly finding: Finding }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useFocusHandover(button);
  const close = (): void => setOpen(false);
  return (
    <>
      <button
        type="button"
        ref={button}
        onClick={() => setOpen(true)}
        aria-label={`Set status of ${finding.title}`}
      >
        Set status…
      </button>
      {isOpen ? (
        <Dialog title="Set the status" onClose={close}>
          <p>
            <Foreign text={finding.title} />
          </p>
          <StatusForm finding={finding} onDone={close}>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </StatusForm>
        </Dialog>
      ) : null}
    </>
  );
}
