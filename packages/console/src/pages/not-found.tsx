// The page for an address that leads nowhere. It names the likely reason, and leads back to the
// fleet.

import { Heading } from '../components/heading.tsx';
import { hrefTo } from '../route.ts';

export function NotFoundPage() {
  return (
    <>
      <Heading title="There is no such page" />
      <div className="empty">
        <p>The address may be mistyped or from another version of the console.</p>
        <a className="button" href={hrefTo('fleet')}>
          To the fleet
        </a>
      </div>
    </>
  );
}
