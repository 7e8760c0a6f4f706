// The part of SARIF 2.1.0 (OASIS, errata 01) that is read, § numbers of the standard beside the
// names. The types say what the standard promises; 13 % of real files break it somewhere, so
// readers take every member as unknown and look (sarif.decode.ts). The TypeBox schema is the
// documentation of the route's body, not a gate.

import Type, { type Static } from 'typebox';

export type * from './schemas/finding-detail.ts';

/** §3.13 sarifLog as the OpenAPI document shows it. */
export const SarifLog = Type.Object(
  {
    version: Type.Literal('2.1.0', { description: '§3.13.2. Decides; `$schema` does not.' }),
    $schema: Type.Optional(Type.String()),
    runs: Type.Array(
      Type.Object(
        {
          tool: Type.Object(
            { driver: Type.Object({ name: Type.String() }, { additionalProperties: true }) },
            { additionalProperties: true },
          ),
          results: Type.Optional(
            Type.Array(Type.Object({}, { additionalProperties: true }), {
              description: '§3.14.23. `[]` is a clean scan; absent says nothing.',
            }),
          ),
        },
        { additionalProperties: true },
      ),
      { description: '§3.13.4. All runs are read.' },
    ),
  },
  { additionalProperties: true, title: 'SARIF 2.1.0 log' },
);
export type SarifLog = Static<typeof SarifLog>;
