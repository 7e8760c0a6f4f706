// Shows a fault so that the operator can act or ask: the problem's detail, the places it names, its
// code and the id under which the server logged the request (RFC 9457 with our members). Network
// faults are told in plain words.

import { ApiError } from '@muster/contract';

interface Place {
  readonly pointer: string;
  readonly detail: string;
}

export function ProblemBox({
  error,
  doing,
  onRetry,
}: {
  readonly error: Error;
  /** The sentence for the failed action: "The findings could not be read". */
  readonly doing: string;
  readonly onRetry?: () => void;
}) {
  const places = placesOf(error);
  return (
    <div role="alert" className="problem">
      <p>
        <strong>{doing}.</strong> {detailOf(error)}
      </p>
      {places.length === 0 ? null : (
        <ul>
          {places.map(({ pointer, detail }) => (
            <li key={`${pointer} ${detail}`}>
              <code>{pointer === '' ? '(whole)' : pointer}</code>: {detail}
            </li>
          ))}
        </ul>
      )}
      <Reference error={error} />
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

function Reference({ error }: { readonly error: Error }) {
  if (!(error instanceof ApiError)) return null;
  const requestId = error.problem['request_id'];
  return (
    <p className="quiet">
      Code <code>{error.code}</code>
      {typeof requestId === 'string' ? (
        <>
          , request <code>{requestId}</code>
        </>
      ) : null}
    </p>
  );
}

/** A sentence for people. `fetch` rejects with a TypeError that says nothing useful. */
export function detailOf(error: Error): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) {
    return 'The server can not be reached. Is it running, and is this machine connected to it?';
  }
  return error.message;
}

function placesOf(error: Error): Place[] {
  const errors: unknown = error instanceof ApiError ? error.problem['errors'] : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.filter(isPlace);
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== 'object' || value === null) return false;
  const { pointer, detail } = value as Partial<Record<string, unknown>>;
  return typeof pointer === 'string' && typeof detail === 'string';
}
