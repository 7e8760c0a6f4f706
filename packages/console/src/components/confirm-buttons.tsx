// The two ways out of a question: doing it, with what went wrong if it failed, and leaving it.

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
  /** What a failure means: "The key was not revoked". */
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
