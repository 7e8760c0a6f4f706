// The way in: an operator token, checked with the server before the tab keeps it. The page also
// says why the last session ended.

import { ApiError } from '@muster/contract';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { ME_KEY, queryClient, whoIs } from '../api.ts';
import { BrandMark } from '../components/shell.tsx';
import { detailOf } from '../components/problem-box.tsx';
import { beginSession, useSession } from '../session.ts';

export function SignInPage() {
  const { ended } = useSession();
  useEffect(() => {
    document.title = 'Sign in · Muster';
  }, []);
  return (
    <main className="sign-in">
      <p className="brand">
        <BrandMark />
        Muster
      </p>
      <h1>Sign in</h1>
      {ended === null ? null : (
        <p role="status" className="notice-box">
          {ended}
        </p>
      )}
      <SignInForm />
      <section className="quiet" aria-label="Where the token is">
        <p>
          The server printed an operator token at its first start. A new one is made on the server’s
          machine:
        </p>
        <pre className="block">npx muster admin operator-token</pre>
        <p>
          This tab keeps the token until it is closed or you sign out. It is stored nowhere else.
        </p>
      </section>
    </main>
  );
}

function SignInForm() {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const signIn = async (token: string): Promise<void> => {
    setAsking(true);
    setFault(null);
    try {
      const mistake = mistakeIn(token);
      if (mistake !== null) throw new Error(mistake);
      queryClient.setQueryData(ME_KEY, await whoIs(token));
      beginSession(token);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      setFault(refusalText(error));
      setAsking(false);
      input.current?.focus();
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (!isAsking) void signIn((input.current?.value ?? '').trim());
  };
  return (
    <form className="form" onSubmit={submit} noValidate>
      <div className="field wide">
        <label htmlFor={id}>Operator token</label>
        <input
          id={id}
          ref={input}
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder="mst_op_…"
          aria-invalid={fault !== null}
          aria-describedby={`${id}-fault`}
        />
        <div id={`${id}-fault`} role="alert" className="fault">
          {fault}
        </div>
      </div>
      <button type="submit" className="primary" aria-disabled={isAsking}>
        {isAsking ? 'Asking the server…' : 'Sign in'}
      </button>
    </form>
  );
}

/**
 * Mistakes that can be told without asking the server; null lets the server decide. Only visible
 * ASCII can stand in a header.
 */
function mistakeIn(token: string): string | null {
  if (token === '') return 'Paste your operator token.';
  if (!/^[!-~]+$/.test(token)) return 'A token has no blanks and no special characters.';
  if (token.startsWith('mst_rnr_')) {
    return 'This is a runner key: runners use it. Sign in with an operator token (mst_op_…).';
  }
  if (token.startsWith('mst_enr_')) {
    return 'This is an enrolment token: it makes runners. Sign in with an operator token (mst_op_…).';
  }
  return null;
}

function refusalText(error: Error): string {
  if (!(error instanceof ApiError)) return detailOf(error);
  const requestId = error.problem['request_id'];
  const reference =
    typeof requestId === 'string' ? ` (${error.code}, request ${requestId})` : ` (${error.code})`;
  if (error.status === 401) {
    return `The server does not accept this token. It may be mistyped, expired or revoked${reference}.`;
  }
  return `${error.message}${reference}`;
}
