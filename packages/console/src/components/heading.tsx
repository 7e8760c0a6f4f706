// The head of a page: its only h1, which also becomes the tab's title and takes the focus on
// arrival, with an optional way back and an optional action beside it.

import { type ReactNode, useEffect } from 'react';
import { Mark } from './mark.tsx';

export function Heading({
  title,
  lead,
  back,
  children,
}: {
  readonly title: string;
  /** One sentence that says what the page shows. */
  readonly lead?: ReactNode;
  readonly back?: { readonly href: string; readonly label: string };
  /** Actions. */
  readonly children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Muster`;
  }, [title]);
  return (
    <div className="heading">
      <div>
        {back === undefined ? null : (
          <a className="back" href={back.href}>
            <Mark shape="back" />
            {back.label}
          </a>
        )}
        <h1 tabIndex={-1} className="foreign">
          {title}
        </h1>
        {lead === undefined ? null : <div className="lead">{lead}</div>}
      </div>
      {children === undefined ? null : <div className="actions">{children}</div>}
    </div>
  );
}
