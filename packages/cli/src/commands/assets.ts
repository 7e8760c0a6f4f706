// muster assets …: what is scanned. Lists assets, and shows one with its kind, criticality and
// default branch.

import { type Asset, ASSET_KINDS, endpoints } from '@muster/contract';
import { command } from '../command.ts';
import { LIST, printList } from '../list.ts';
import { given, text, word } from '../options.ts';
import type { Column } from '../print/table.ts';
import { minuteOf, momentOf } from '../print/time.ts';

const layout: Column<Asset>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'KIND', cell: (row) => row.kind },
  { title: 'NAME', cell: (row) => row.name, shrink: 'front' },
  { title: 'OPEN', cell: (row) => row.open_findings.toLocaleString('en') },
  { title: 'LAST SEEN', cell: (row) => minuteOf(row.last_seen_at) },
];

const list = command({
  name: 'assets list',
  summary: 'List the assets, newest first',
  operands: [],
  options: {
    ...LIST,
    kind: word(ASSET_KINDS, 'only those of this kind: repository, container, domain …'),
    value: text('TEXT', 'only those with this in their value or name'),
  },
  examples: ['muster assets list', 'muster assets list --kind repository --value shop'],
  run: (context, _operands, { kind, value, ...paging }) => {
    const filters = given({ kind, value });
    return printList(
      context,
      paging,
      (page) => context.operator(endpoints.listAssets, { query: { ...page, ...filters } }),
      {
        layout,
        empty: 'No assets yet: reports bring them. Upload one: muster upload report.sarif',
        filters,
      },
    );
  },
});

const show = command({
  name: 'assets show',
  summary: 'Show one asset',
  operands: ['ID'],
  options: {},
  examples: ['muster assets show 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const asset = await context.operator(endpoints.showAsset, { params: { id } });
    const { print, io } = context;
    print.result(asset, () =>
      print.fields([
        ['ID', asset.id],
        ['Name', asset.name],
        ['Kind', asset.kind],
        ['Value', asset.value],
        ['Criticality', asset.criticality],
        ['Default branch', asset.default_ref],
        ['Open findings', asset.open_findings.toLocaleString('en')],
        ['First seen', momentOf(asset.first_seen_at, io.nowMs())],
        ['Last seen', momentOf(asset.last_seen_at, io.nowMs())],
        ['Note', asset.is_fallback ? 'made for reports that name no asset of their own' : null],
      ]),
    );
  },
});

export const assetCommands = [list, show];
