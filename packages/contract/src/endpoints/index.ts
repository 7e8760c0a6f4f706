// The table of all endpoints. An endpoint that isn't here isn't served; each one here must be
// authorised, tested and documented.

import type { Endpoint } from '../endpoint.ts';
import * as agent from './agent.ts';
import * as commands from './commands.ts';
import * as ingest from './ingest.ts';
import * as inventory from './inventory.ts';
import * as operator from './operator.ts';
import * as scans from './scans.ts';
import * as service from './service.ts';

const { UploadQuery: _uploadQuery, ...ingestEndpoints } = ingest;

export const endpoints = {
  ...agent,
  ...ingestEndpoints,
  ...operator,
  ...inventory,
  ...commands,
  ...scans,
  ...service,
};

/**
 * All of them, in the order of the files: runner wire, ingest, operators, inventory, commands,
 * scans, service.
 */
export const endpointList: readonly Endpoint[] = Object.values(endpoints);
