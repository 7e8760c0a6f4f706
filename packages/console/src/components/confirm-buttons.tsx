// The two answers to a question: the button that does it, with the fault if it failed, and the
// button that leaves it.

import { ProblemBox } from './problem-box.tsx';

export function ConfirmButtons({
  change,
  doing,
  confirm,
  leave,
  onLeave,
}: {
  readonly change: {
    readonly error: Error | null;
    readonly isPending: boolean;
    readonly mutate: (input: undefined) => void;
  };
  /** The sentence for a failure: "The key was not revoked". */
  readonly doing: string;
  readonly confirm: string;
  readonly leave: string;
  readonly onLeave: () => void;
}) {
  return (
    <>
      {change.error === null ? null : <ProblemBox error={change.error} doing={doing} />}
      <div className="buttons">
        <button
          type="button"
          className="primary"
          aria-disabled={change.isPending}
          onClick={() => {
            if (!change.isPending) change.mutate(undefined);
          }}
        >
          {confirm}
        </button>
        <button type="button" onClick={onLeave}>
          {leave}
        </button>
      </div>
    </>
  );
}
