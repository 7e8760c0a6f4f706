// Builds the console into `dist`: one page and hashed assets, with relative addresses so that it
// works under any path prefix, and nothing inline, because the server's policy allows scripts and
// styles from files only. `npm run dev` serves the sources and passes API calls to a server on its
// default port.

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const SERVER = 'http://127.0.0.1:7878';

export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    // The icon would become a data: URL; as a file it is cached, and the policy could drop `data:`
    // one day.
    assetsInlineLimit: 0,
    // All browsers that the other syntax needs have it built in.
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': SERVER, '/docs': SERVER } },
});
