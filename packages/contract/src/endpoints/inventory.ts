// Assets as operators see them: their list, one with its detail, and beside its findings its
// components, its connections, and the endpoints that can be called on it.

import Type from 'typebox';
import { endpoint } from '../endpoint.ts';
import {
  Asset,
  AssetEndpoint,
  AssetWithDetail,
  Component,
  Relationship,
} from '../schemas/finding.ts';
import { Page, PageQuery } from '../schemas/shapes.ts';
import { AssetKind } from '../schemas/vocabulary.ts';

const ofAsset = {
  method: 'GET',
  auth: { kind: 'operator', role: 'viewer' },
  params: Type.Object({ id: Type.String() }),
  bodyKind: 'none',
  errors: ['unauthorized', 'rate_limited', 'not_found', 'invalid_parameter'],
} as const;

export const listAssets = endpoint({
  id: 'listAssets',
  method: 'GET',
  path: '/api/v1/assets',
  auth: ofAsset.auth,
  summary: 'Assets, newest first',
  query: Type.Object({
    ...PageQuery,
    kind: Type.Optional(AssetKind),
    value: Type.Optional(
      Type.String({ maxLength: 2048, description: 'part of the value or name' }),
    ),
  }),
  bodyKind: 'none',
  replies: { 200: Page(Asset) },
  errors: ['unauthorized', 'rate_limited', 'invalid_parameter'],
});

export const showAsset = endpoint({
  ...ofAsset,
  id: 'showAsset',
  path: '/api/v1/assets/{id}',
  summary: 'One asset with all that is known of it',
  replies: { 200: AssetWithDetail },
  errors: ['unauthorized', 'rate_limited', 'not_found'],
});

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
