// Texts and links that came in with reports or from runners: somebody else wrote them. React
// escapes the text. This file keeps the text's direction from spilling over, and makes links of
// http and https addresses only.

import type { ReactNode } from 'react';
import { Mark } from './mark.tsx';

export function Foreign({ text }: { readonly text: string }) {
  return <bdi className="foreign">{text}</bdi>;
}

export function ForeignBlock({ text }: { readonly text: string }) {
  return (
    <pre className="block foreign" dir="auto">
      {text}
    </pre>
  );
}

/**
 * A link when the address is http or https, otherwise its text alone: `javascript:` and others must
 * never be clickable.
 */
export function ForeignLink({
  address,
  children,
}: {
  readonly address: string;
  readonly children?: ReactNode;
}) {
  const href = webAddress(address);
  if (href === null) return <Foreign text={address} />;
  return (
    <a className="foreign" href={href} target="_blank" rel="noopener noreferrer">
      {children ?? address} <Mark shape="out" />
      <span className="visually-hidden"> (opens in a new tab)</span>
    </a>
  );
}

/** The address as the browser reads it, if it leads to the web and carries no credentials. */
function webAddress(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' ? url.href : null;
}
