// The registry of formats: which formats the server reads, how the format of a document is
// recognised, and which reader opens it. A format is one folder beside this file and one row here
// (docs/adding-a-format.md). No file outside this room asks which format a document has.

import { itemTree } from '../document/shape.rules.ts';
import type { Located, Warnings } from '../json/warnings.decode.ts';
import type { FormatFacts, ItemCounts, OpenReport, UploadContext } from '../report/report.rules.ts';
import type { Certainty } from './common/certainty.rules.ts';
import { certaintyOfCtis, CTIS, CTIS_LISTS, openCtis } from './ctis/ctis.decode.ts';
import {
  certaintyOfGitleaks,
  GITLEAKS,
  GITLEAKS_LISTS,
  openGitleaks,
} from './gitleaks/gitleaks.decode.ts';
import { certaintyOfSarif, openSarif, SARIF, SARIF_LISTS } from './sarif/sarif.decode.ts';

/** A document whose envelope was read, and what its sender said beside it. */
interface Opening {
  /** The document with empty lists in the places of its items. */
  readonly envelope: unknown;
  /** The lists that have items, by their pointers. */
  readonly counts: ItemCounts;
  readonly context: UploadContext;
  /** Gets the warnings of reading the envelope. */
  readonly warnings: Warnings;
}

interface Format extends FormatFacts {
  /**
   * It has a route of its own, which its sender should use instead of those that take several
   * formats.
   */
  readonly hasRoute: boolean;
  /**
   * The warning for a document that was recognised as this format; null: the format of the primary
   * route.
   */
  readonly recognised: Omit<Located, 'pointer'> | null;
  /** Media types that mean this format and no other. */
  readonly mediaTypes: readonly string[];
  /** JSON pointers of the lists whose entries are items; `*` stands for any index of a list. */
  readonly itemLists: readonly string[];
  /** Those of `itemLists` whose entries are findings. */
  readonly findingLists: readonly string[];
  /**
   * How surely a document is of this format; `first` is the first entry of a document that is a
   * list.
   */
  readonly certaintyOf: (envelope: unknown, first: unknown) => Certainty;
  /** Throws DocumentRefused for a document of another format or of an unknown version. */
  readonly open: (opening: Opening) => OpenReport;
}

const endingIn = (lists: readonly string[], name: string): readonly string[] =>
  lists.filter((list) => list.endsWith(`/${name}`));

const CTIS_FORMAT: Format = {
  ...CTIS,
  hasRoute: true,
  recognised: null,
  mediaTypes: [],
  itemLists: CTIS_LISTS,
  findingLists: endingIn(CTIS_LISTS, 'findings'),
  certaintyOf: certaintyOfCtis,
  open: ({ envelope, context, warnings }) => openCtis(envelope, context, warnings),
};

const SARIF_FORMAT: Format = {
  ...SARIF,
  hasRoute: true,
  recognised: {
    code: 'recognised_as_sarif',
    detail: 'The document is SARIF and was read as such; /ingest/sarif is its own route.',
  },
  mediaTypes: ['application/sarif+json'],
  itemLists: SARIF_LISTS,
  findingLists: SARIF_LISTS,
  certaintyOf: certaintyOfSarif,
  open: ({ envelope, counts, context, warnings }) => openSarif(envelope, counts, context, warnings),
};

const GITLEAKS_FORMAT: Format = {
  ...GITLEAKS,
  hasRoute: false,
  recognised: {
    code: 'recognised_as_gitleaks',
    detail: 'The document is a Gitleaks report and was read as such.',
  },
  mediaTypes: ['application/vnd.gitleaks+json'],
  itemLists: GITLEAKS_LISTS,
  findingLists: GITLEAKS_LISTS,
  certaintyOf: certaintyOfGitleaks,
  open: ({ envelope, context, warnings }) => openGitleaks(envelope, context, warnings),
};

/** All formats; of two that are equally sure of a document the first one reads it. */
export const FORMATS: readonly Format[] = [SARIF_FORMAT, CTIS_FORMAT, GITLEAKS_FORMAT];

/**
 * Reads a document that no format recognises. It is the format of the primary route, and its
 * refusal says what was expected.
 */
const PRIMARY = CTIS_FORMAT;

/** Where items may stand in a document of any format. */
export const ITEM_PLACES = itemTree(FORMATS.flatMap(({ itemLists }) => itemLists));

const FINDING_LISTS: readonly RegExp[] = FORMATS.flatMap(({ findingLists }) =>
  findingLists.map((list) => new RegExp(`^${list.replaceAll('*', '\\d+')}$`)),
);

/** Whether the list at this pointer holds findings, whatever the format of its document. */
export const isFindingList = (pointer: string): boolean =>
  FINDING_LISTS.some((list) => list.test(pointer));

/**
 * The format of a document. It is the one that the route takes; if the route takes several
 * (`auto`), the one that the media type means; else the one that is surest of the content. A
 * warning tells of a format that was only recognised, unless it is the primary one.
 */
export function formatOf(
  routeFormat: string,
  { envelope, context, warnings }: Opening,
  first: unknown,
): Format {
  const ofRoute = FORMATS.find(({ name }) => name === routeFormat);
  // The routes of the primary format take any other as well.
  if (ofRoute !== undefined && ofRoute !== PRIMARY) return ofRoute;
  const { mediaType, dryRun } = context;
  const declared = FORMATS.find(({ mediaTypes }) => mediaTypes.includes(mediaType ?? ''));
  const format = declared ?? surestOf(envelope, first);
  // The dry run takes all formats; a format without a route can only be said by its media type.
  const isExpected = dryRun === true || (declared !== undefined && !format.hasRoute);
  if (format.recognised !== null && !isExpected) {
    const { code, detail } = format.recognised;
    warnings.warn('', code, detail);
  }
  return format;
}

function surestOf(envelope: unknown, first: unknown): Format {
  let surest = { format: PRIMARY, certainty: 0 };
  for (const format of FORMATS) {
    const certainty = format.certaintyOf(envelope, first);
    if (certainty > surest.certainty) surest = { format, certainty };
  }
  return surest.format;
}
