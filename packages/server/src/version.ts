// The version of this server, from its package.

import packageJson from '../package.json' with { type: 'json' };

export const VERSION: string = packageJson.version;
