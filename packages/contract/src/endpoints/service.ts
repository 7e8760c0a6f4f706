// The endpoints of the installation itself: health, metrics, its description. None needs a key, so
// none shows anything of a tenant.

import Type from 'typebox';
import { endpoint } from '../endpoint.ts';

const Text = Type.String();

export const healthz = endpoint({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  auth: { kind: 'none' },
  summary: 'The process is alive',
  bodyKind: 'none',
  replies: { 200: Type.Object({ status: Type.Literal('ok'), version: Text }) },
  errors: [],
});

export const readyz = endpoint({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  auth: { kind: 'none' },
  summary: 'The process can serve: database reachable, presence flushed, not stopping',
  bodyKind: 'none',
  description:
    '`storage` is `low` while uploads are refused because the disk is nearly full; everything else is served.',
  replies: {
    200: Type.Object({
      status: Type.Literal('ok'),
      database: Text,
      storage: Type.Enum(['ok', 'low']),
    }),
  },
  errors: ['unavailable'],
});

export const metrics = endpoint({
  id: 'metrics',
  method: 'GET',
  path: '/metrics',
  auth: { kind: 'none' },
  summary: 'Prometheus metrics; served on loopback addresses only unless configured otherwise',
  bodyKind: 'none',
  replies: { 200: Text },
  replyType: 'text/plain; version=0.0.4; charset=utf-8',
  errors: ['not_found'],
});

export const openapi = endpoint({
  id: 'openapi',
  method: 'GET',
  path: '/openapi.json',
  auth: { kind: 'none' },
  summary: 'This description (OpenAPI 3.1)',
  bodyKind: 'none',
  replies: { 200: Type.Object({}) },
  errors: [],
});

export const docs = endpoint({
  id: 'docs',
  method: 'GET',
  path: '/docs',
  auth: { kind: 'none' },
  summary: 'This description, to read',
  bodyKind: 'none',
  replies: { 200: Text },
  replyType: 'text/html; charset=utf-8',
  errors: [],
});
