// What the machine says of itself.

import { hostname } from 'node:os';

export const hostName = (): string => hostname();
