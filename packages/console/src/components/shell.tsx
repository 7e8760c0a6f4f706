// The frame of every page behind the sign-in: skip link, navigation, the signed-in operator, the
// line that tells the effect of the last action, and the page itself. Moves the focus to the new
// page's heading when the operator goes somewhere.

import { type MouseEvent, type ReactNode, useEffect, useRef } from 'react';
import { queryClient, useMe } from '../api.ts';
import { focusHeading } from '../focus.ts';
import { sentence } from '../format.ts';
import { announce, useNotice } from '../notice.ts';
import { hrefTo, PAGES, type Route } from '../route.ts';
import { currentSession, endSession } from '../session.ts';

export function Shell({
  route,
  children,
}: {
  readonly route: Route;
  readonly children: ReactNode;
}) {
  useArrival(`${route.page}/${route.id ?? ''}`);
  return (
    <>
      <a className="skip-link" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header className="top">
        <div className="top-inner">
          <a className="brand" href={hrefTo('fleet')} aria-label="Muster: to the fleet">
            <BrandMark />
            Muster
          </a>
          <nav aria-label="Main">
            <ul>
              {PAGES.map((page) => (
                <li key={page}>
                  <a
                    href={hrefTo(page)}
                    aria-current={
                      page === route.page ? (route.id === null ? 'page' : true) : undefined
                    }
                  >
                    {sentence(page)}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <Account />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Notice />
        {children}
      </main>
      <footer className="bottom">
        <a href="./docs">API reference</a>
      </footer>
    </>
  );
}

/** A plain `#main` would be taken for a page by the hash routing. */
function skipToMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/**
 * Focuses on every way to another page, but not at the start: there the browser's own order is
 * expected.
 */
function useArrival(place: string): void {
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    announce('');
    scrollTo(0, 0);
    focusHeading();
  }, [place]);
}

function Notice() {
  const notice = useNotice();
  return (
    <div role="status" className="notice">
      {notice === '' ? null : <p>{notice}</p>}
    </div>
  );
}

function Account() {
  const { data: me } = useMe();
  const signOut = (): void => {
    endSession(currentSession().token, 'You are signed out. This tab has forgotten the token.');
    queryClient.clear();
  };
  return (
    <div className="account">
      {me === undefined ? null : (
        <p>
          <strong>{me.name}</strong>
          <span className="quiet">
            {me.role} · {me.tenant}
          </span>
        </p>
      )}
      <button type="button" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

/** Rows of runners, lined up. */
export function BrandMark() {
  return (
    <svg className="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <g>
        {[9, 16].flatMap((y) =>
          [8.5, 16, 23.5].map((x) => <circle key={`${x} ${y}`} cx={x} cy={y} r="2.5" />),
        )}
        <rect x="6" y="21.5" width="20" height="3.5" rx="1.75" />
      </g>
    </svg>
  );
}
