// Puts the keyboard's focus somewhere after its control has disappeared: on the page's heading,
// never nowhere.

import { type RefObject, useLayoutEffect } from 'react';

export function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** For a control that may vanish with its row: if it had the focus, the heading gets it. */
export function useFocusHandover(control: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = control.current;
    return () => {
      if (element !== null && document.activeElement === element) focusHeading();
    };
  }, [control]);
}
