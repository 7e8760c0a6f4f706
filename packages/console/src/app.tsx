// Chooses the page: without a token the sign-in page; with one, the shell around the page that the
// hash names.

import { Shell } from './components/shell.tsx';
import { AssetsPage } from './pages/assets.tsx';
import { CommandPage } from './pages/command.tsx';
import { CommandsPage } from './pages/commands.tsx';
import { FindingPage } from './pages/finding.tsx';
import { FindingsPage } from './pages/findings.tsx';
import { FleetPage } from './pages/fleet.tsx';
import { NotFoundPage } from './pages/not-found.tsx';
import { RunnerPage } from './pages/runner.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { UploadPage } from './pages/upload.tsx';
import { UploadsPage } from './pages/uploads.tsx';
import { type Route, useRoute } from './route.ts';
import { useSession } from './session.ts';

export function App() {
  const { token } = useSession();
  const route = useRoute();
  if (token === null) return <SignInPage />;
  return (
    <Shell route={route}>
      <Page route={route} />
    </Shell>
  );
}

function Page({ route: { page, id, filters } }: { readonly route: Route }) {
  switch (page) {
    case 'fleet':
      return id === null ? <FleetPage filters={filters} /> : <RunnerPage id={id} />;
    case 'findings':
      return id === null ? <FindingsPage filters={filters} /> : <FindingPage id={id} key={id} />;
    case 'uploads':
      return id === null ? <UploadsPage filters={filters} /> : <UploadPage id={id} />;
    case 'commands':
      return id === null ? <CommandsPage filters={filters} /> : <CommandPage id={id} />;
    case 'assets':
      return id === null ? <AssetsPage filters={filters} /> : <NotFoundPage />;
    case null:
      return <NotFoundPage />;
  }
}
