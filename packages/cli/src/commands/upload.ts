// muster upload FILE…: hands in reports, one after the other, and prints what became of each. All
// files are checked before the first is sent.

import { ApiError, ASSET_KINDS, type Receipt } from '@muster/contract';
import { command } from '../command.ts';
import type { Context } from '../context.ts';
import { explain, UsageError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { flag, given, integer, text, word } from '../options.ts';
import { plain } from '../print/text.ts';
import { Progress } from '../upload/progress.ts';
import { receiptText } from '../upload/receipt.ts';
import { send, type Sent, type UploadQueryValues } from '../upload/send.ts';
import { openSource, shownName, type Source } from '../upload/source.ts';

/** Long enough for a million findings; a caller that can't wait gives another time. */
const WAIT_DEFAULT_SECONDS = 600;

const options = {
  repository: text('URL', 'the repository that was analysed, where the report does not say'),
  branch: text('NAME', 'its branch'),
  commit: text('SHA', 'its commit'),
  'default-branch': flag('this branch is the default branch'),
  'base-branch': text('NAME', 'what a pull request would be merged into'),
  'pull-request': text('ID', 'the pull request that was analysed'),
  asset: text('VALUE', 'what was analysed, when it is no repository'),
  'asset-type': word(ASSET_KINDS, 'its kind: container, domain, host …'),
  category: text('TEXT', 'tells several analyses by one tool apart'),
  coverage: word(
    ['full', 'partial'],
    'full: what is no longer reported is resolved; partial: it stays',
  ),
  format: word(['sarif', 'ctis', 'gitleaks'], 'instead of looking at the content'),
  wait: integer('SECONDS', 0, 86_400, `for the receipt; default ${WAIT_DEFAULT_SECONDS}`),
} as const;

export const upload = command({
  name: 'upload',
  summary: 'Hand in reports: SARIF, CTIS or Gitleaks, told apart by content',
  details: [
    'Needs a runner key. Files are sent one after the other, compressed; `-` is stdin. What did not get through is ' +
      'sent again, which changes nothing if it had got through after all.',
    'Exit code 4 says that a report was taken, but some of its items were rejected. A report that is still being ' +
      'processed when --wait is over is safe, and exit code 0.',
  ],
  operands: ['FILE…'],
  options,
  examples: [
    'muster upload report.sarif',
    'muster upload --repository https://github.com/example/shop --branch main results/*.sarif',
    'scanner --format sarif | muster upload --coverage partial -',
    'muster upload --json report.sarif | jq .[0].receipt.findings.created',
  ],
  run: async (context, names, { format, wait, ...about }) => {
    if (names.filter((name) => name === '-').length > 1) {
      throw new UsageError('- (stdin) can be read once only.', 'upload');
    }
    const sources: Source[] = [];
    try {
      // All files are looked at before the first is sent: a typing error must not be found
      // half-way.
      for (const name of names) sources.push(await openSource(name, context.io.input, format));
      return await sendAll(context, sources, queryOf(about), wait ?? WAIT_DEFAULT_SECONDS);
    } finally {
      await Promise.all(sources.map((source) => source.close()));
    }
  },
});

function queryOf(
  about: {
    readonly [Name in Exclude<keyof typeof options, 'format' | 'wait'>]: ReturnType<
      (typeof options)[Name]['read']
    >;
  },
): UploadQueryValues {
  return given({
    repository_url: about.repository,
    asset: about.asset,
    asset_type: about['asset-type'],
    branch: about.branch,
    commit_sha: about.commit,
    base_branch: about['base-branch'],
    pull_request: about['pull-request'],
    default_branch: about['default-branch'] ? ('true' as const) : undefined,
    category: about.category,
    coverage: about.coverage,
  });
}

/** The entry of one file in the JSON document. */
interface Outcome {
  readonly file: string;
  readonly format: Source['format'];
  readonly state: 'processed' | 'processing' | 'refused' | 'failed';
  readonly upload_id: string | null;
  readonly receipt: Receipt | null;
  readonly problem: unknown;
}

async function sendAll(
  context: Context,
  sources: readonly Source[],
  query: UploadQueryValues,
  waitSeconds: number,
): Promise<ExitCode> {
  const { print, io } = context;
  const outcomes: Outcome[] = [];
  const exits: ExitCode[] = [];
  for (const source of sources) {
    const progress = new Progress(io.err, source.name);
    try {
      const sent = await send(context, source, query, waitSeconds, progress);
      progress.clear();
      outcomes.push(outcomeOf(source, sent));
      exits.push(
        sent.state === 'processed' && sent.receipt.outcome !== 'complete' ? EXIT.partial : EXIT.ok,
      );
      if (!print.isJson) io.out.write(sentText(context, source, sent));
    } catch (error) {
      progress.clear();
      const { exit, text } = explain(error);
      exits.push(exit);
      outcomes.push(failureOf(source, error));
      print.error(`${shownName(source.name)}: ${text}`);
      showRefused(context, error);
      // The next file would fail in the same way.
      if (exit === EXIT.unreachable || exit === EXIT.unauthorised) break;
    }
  }
  if (print.isJson) print.result(outcomes, () => '');
  return gravest(exits);
}

function outcomeOf(source: Source, sent: Sent): Outcome {
  const { name: file, format } = source;
  const receipt = sent.state === 'processed' ? sent.receipt : null;
  const uploadId = sent.state === 'processed' ? sent.receipt.upload_id : sent.uploadId;
  return { file, format, state: sent.state, upload_id: uploadId, receipt, problem: null };
}

function failureOf(source: Source, error: unknown): Outcome {
  const { name: file, format } = source;
  const problem = error instanceof ApiError ? error.problem : { detail: explain(error).text };
  const uploadId = 'upload_id' in problem ? String(problem['upload_id']) : null;
  const receipt = refusedReceipt(error);
  const state = receipt === null ? 'failed' : 'refused';
  return { file, format, state, upload_id: uploadId, receipt, problem };
}

/** A refused report's receipt names the items for which it was refused. */
function refusedReceipt(error: unknown): Receipt | null {
  const receipt = error instanceof ApiError ? error.problem['receipt'] : undefined;
  return typeof receipt === 'object' && receipt !== null ? (receipt as Receipt) : null;
}

function showRefused({ print, io }: Context, error: unknown): void {
  const receipt = refusedReceipt(error);
  if (receipt !== null && !print.isJson) io.err.write(receiptText(print, receipt));
}

/** As people call them. */
const FORMAT_NAMES: Readonly<Record<Receipt['format'], string>> = {
  sarif: 'SARIF',
  ctis: 'CTIS',
  gitleaks: 'Gitleaks',
};

function sentText({ print }: Context, source: Source, sent: Sent): string {
  const name = print.style('bold', shownName(source.name));
  if (sent.state === 'processing') {
    return `${name}: stored safely, still being processed. See: muster uploads show ${sent.uploadId}\n`;
  }
  const { receipt } = sent;
  const tool = receipt.tool === null ? '' : `, ${plain(receipt.tool)}`;
  const taken =
    receipt.outcome === 'complete'
      ? print.style('green', 'taken in whole')
      : print.style('yellow', 'taken in part');
  const kind = FORMAT_NAMES[receipt.format];
  return `${name}: ${taken} (${kind}${tool}), upload ${receipt.upload_id}\n${receiptText(print, receipt)}`;
}

const GRAVEST_FIRST: readonly ExitCode[] = [
  EXIT.unauthorised,
  EXIT.unreachable,
  EXIT.usage,
  EXIT.refused,
  EXIT.partial,
];

const gravest = (exits: readonly ExitCode[]): ExitCode =>
  GRAVEST_FIRST.find((exit) => exits.includes(exit)) ?? EXIT.ok;
