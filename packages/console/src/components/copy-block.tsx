// A command to paste, with a button that copies it where the browser allows that (secure origins
// only).

import { useState } from 'react';
import { announce } from '../notice.ts';

export function CopyBlock({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce('Copied.');
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      announce('The browser did not allow copying. Select the text instead.');
    }
  };
  return (
    <figure className="copy">
      <figcaption>{label}</figcaption>
      {/* Focusable, because it scrolls sideways. */}
      <pre className="block" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      {window.isSecureContext ? (
        <button type="button" onClick={() => void copy()} aria-label={`Copy: ${label}`}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      ) : null}
    </figure>
  );
}
