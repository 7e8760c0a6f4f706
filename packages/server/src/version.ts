// The version of this server, from its package. Read once, when the server is loaded. It is printed
// in the API description.

import packageJson from '../package.json' with { type: 'json' };

export const VERSION: string = packageJson.version;
