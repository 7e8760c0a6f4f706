// Scan sessions (contract §1): runners open and end them, operators list and show them. A session
// decides nothing about findings.

import Type from 'typebox';
import { bodyErrors, endpoint } from '../endpoint.ts';
import {
  NewScanSession,
  ScanEnd,
  ScanSession,
  ScanStarted,
  SessionStatus,
} from '../schemas/scan-session.ts';
import { Id, Page, PageQuery } from '../schemas/shapes.ts';

const ById = Type.Object({ id: Type.String({ description: 'the session' }) });
const everyone = ['unauthorized', 'rate_limited'] as const;

export const startScan = endpoint({
  id: 'startScan',
  method: 'POST',
  path: '/api/v1/agent/scans',
  auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
  summary: 'Open a scan session',
  description:
    'The same again by the same runner, while the session is running and not older than ten minutes, is a repeat and ' +
    'answers the same. A session decides nothing: findings come by ingest.',
  bodyKind: 'json',
  body: NewScanSession,
  replies: { 201: ScanStarted },
  errors: [...everyone, ...bodyErrors, 'invalid_body'],
});

export const endScan = endpoint({
  id: 'endScan',
  method: 'PATCH',
  path: '/api/v1/agent/scans/{id}',
  auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
  summary: 'End a scan session',
  description: 'Once: the same again is a repeat, another end is a conflict.',
  params: ById,
  bodyKind: 'json',
  body: ScanEnd,
  replies: { 200: Type.Object({ status: Type.Literal('updated') }) },
  errors: [...everyone, 'not_found', ...bodyErrors, 'invalid_body', 'transition_conflict'],
});

export const showOwnScan = endpoint({
  id: 'showOwnScan',
  method: 'GET',
  path: '/api/v1/agent/scans/{id}',
  auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
  summary: 'One scan session of this runner',
  params: ById,
  bodyKind: 'none',
  replies: { 200: ScanSession },
  errors: [...everyone, 'not_found'],
});

export const listScans = endpoint({
  id: 'listScans',
  method: 'GET',
  path: '/api/v1/scans',
  auth: { kind: 'operator', role: 'viewer' },
  summary: 'Scan sessions, newest first',
  query: Type.Object({
    ...PageQuery,
    status: Type.Optional(SessionStatus),
    runner_id: Type.Optional(Id),
  }),
  bodyKind: 'none',
  replies: { 200: Page(ScanSession) },
  errors: [...everyone, 'invalid_parameter'],
});

export const showScan = endpoint({
  id: 'showScan',
  method: 'GET',
  path: '/api/v1/scans/{id}',
  auth: { kind: 'operator', role: 'viewer' },
  summary: 'One scan session',
  params: ById,
  bodyKind: 'none',
  replies: { 200: ScanSession },
  errors: [...everyone, 'not_found'],
});
