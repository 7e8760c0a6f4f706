// A modal dialog on the browser's own element: focus stays inside, Escape closes, and the focus
// returns to where it was. Its content exists only while it is open, so that every opening starts
// anew.

import { type ReactNode, useEffect, useId, useRef } from 'react';
import { focusHeading } from '../focus.ts';

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    if (dialog.current?.open === false) dialog.current.showModal();
    // The element is gone by then: leaving the document has closed it.
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      else focusHeading();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
