// What operators see of one asset beside its findings: its components, its connections, and the
// endpoints that can be called on it.

import Type from 'typebox';
import { endpoint } from '../endpoint.ts';
import { AssetEndpoint, Component, Relationship } from '../schemas/finding.ts';
import { Page, PageQuery } from '../schemas/shapes.ts';

const ofAsset = {
  method: 'GET',
  auth: { kind: 'operator', role: 'viewer' },
  params: Type.Object({ id: Type.String() }),
  bodyKind: 'none',
  errors: ['unauthorized', 'rate_limited', 'not_found', 'invalid_parameter'],
} as const;

export const listAssetComponents = endpoint({
  ...ofAsset,
  id: 'listAssetComponents',
  path: '/api/v1/assets/{id}/components',
  summary: 'The components of an asset, by identity',
  query: Type.Object({ ...PageQuery }),
  replies: { 200: Page(Component) },
});

export const listAssetRelationships = endpoint({
  ...ofAsset,
  id: 'listAssetRelationships',
  path: '/api/v1/assets/{id}/relationships',
  summary: 'How an asset is connected to others',
  query: Type.Object({
    ...PageQuery,
    direction: Type.Optional(
      Type.Enum(['out', 'in'], { description: '`out` (default): it is `from`; `in`: it is `to`' }),
    ),
  }),
  replies: { 200: Page(Relationship) },
});

export const listAssetEndpoints = endpoint({
  ...ofAsset,
  id: 'listAssetEndpoints',
  path: '/api/v1/assets/{id}/endpoints',
  summary: 'What can be called on an asset, by method and address',
  query: Type.Object({ ...PageQuery }),
  replies: { 200: Page(AssetEndpoint) },
});
