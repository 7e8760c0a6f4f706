// The name of this machine, by which heartbeats and enrolments report it. The only question to the
// operating system.

import { hostname } from 'node:os';

export const hostName = (): string => hostname();
