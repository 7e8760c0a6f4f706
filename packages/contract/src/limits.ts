// Every bound of the system, with unit and reason. A number that isn't here must not be used as a
// limit. Sources: contract §2-§7; CTIS §4.5 for the text caps.

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const limits = {
  /**
   * Bodies of all routes but ingest, on the wire and decoded. Heartbeats of late agents reach about
   * 100 KiB.
   */
  bodyBytesMax: 2 * MiB,
  /** One upload, on the wire. Doubling it costs disk only: bytes are streamed. */
  uploadWireBytesMax: 2 * GiB,
  /** One report, decoded (contract §5). It is read as a stream: doubling it costs time only. */
  documentBytesMax: 4 * GiB,
  /**
   * The parts of a report that aren't read one by one (tool, rules, artifacts …): they are parsed
   * and held as a whole.
   */
  envelopeBytesMax: 64 * MiB,
  /**
   * The names by which the dependencies of one report are known, each once; held until edges
   * between them are resolved. A million of them may take 250 bytes each, three times as much as
   * most do.
   */
  componentNamesBytesMax: 256 * MiB,
  /**
   * The names by which the assets of one report are known, each once; held until the report is
   * applied. Few take 100 bytes.
   */
  assetNamesBytesMax: 256 * MiB,
  /**
   * One item, which is parsed as a whole. The largest real ones, with thousands of flow steps, have
   * about 2 MiB.
   */
  itemBytesMax: 16 * MiB,
  /** Decoded : wire bytes. JSON with long runs of blanks reaches 200; bombs start at 1000. */
  decompressionRatioMax: 500,
  /** Below this many decoded bytes the ratio is not judged: tiny bodies compress absurdly well. */
  decompressionRatioFloorBytes: 1 * MiB,
  /** RFC 9659: decoders need not offer more window than this for zstd. */
  zstdWindowBytesMax: 8 * MiB,
  /**
   * A sender slower than this over a whole window is cut off (408): no total time limit, but a
   * minimum rate.
   */
  bodyRateBytesPerSecondMin: 512,
  bodyRateWindowMs: 30 * SECOND_MS,
  /** Nested arrays and objects of a JSON document (contract §2). */
  jsonDepthMax: 128,
  /**
   * Items (results, findings, assets, dependencies, relationships, endpoints) of one upload
   * (contract §5).
   */
  uploadItemsMax: 1_000_000,
  /** Rejections of one upload that are stored to be looked at; further ones are only counted. */
  uploadRejectionsMax: 10_000,
  /**
   * Runs of one upload that are shown with it: a log for each project has a dozen, and nobody reads
   * more.
   */
  uploadRunsShown: 20,
  /** The text of a rejected item, masked, as it is stored with the rejection. */
  rejectedItemCharsMax: 2 * KiB,
  /** Rejections shown in a receipt; all are counted by code (contract §5). */
  receiptRejectionsMax: 100,
  receiptWarningsMax: 100,

  /** One sealed piece of an upload. Larger pieces stall the writer, smaller ones waste rows. */
  uploadChunkBytes: 256 * KiB,
  /**
   * Findings a batch transaction writes: about 5 ms of writing, so that heartbeats get in between.
   */
  ingestBatchItems: 250,
  /**
   * How long an upload's claim lasts without a committed batch. Reading a document of the largest
   * size takes about a minute, in which nothing is written; the claims of a node that died wait for
   * this time.
   */
  uploadLeaseMs: 5 * MINUTE_MS,
  /**
   * A thread that has an upload in work and commits nothing for this time is ended. Shorter than
   * the lease, so that the reason is written down before another worker takes the upload over.
   */
  uploadStallMs: 4 * MINUTE_MS,
  /**
   * Claims of one upload without any progress before it is set aside: a poisonous document must not
   * run for ever.
   */
  uploadAttemptsMax: 3,
  /**
   * A body of which nothing arrives for this time is given up: its sender is gone, or the node that
   * received it. A sender that is there is cut off long before (bodyRateWindowMs); half of it would
   * hurt nodes whose clocks differ.
   */
  uploadQuietMs: 5 * MINUTE_MS,
  /** While a body arrives, its progress is written down this often: a fifth of uploadQuietMs. */
  uploadArrivalNoteMs: 1 * MINUTE_MS,
  /**
   * The request waits for its receipt for this time after its headers arrived (contract §5);
   * clients give up at 30 s.
   */
  uploadAnswerAfterHeadersMs: 25 * SECOND_MS,
  /** … and for this time after its last byte at most. */
  uploadAnswerAfterBodyMs: 20 * SECOND_MS,
  /**
   * A stored answer is repeated for this time to the same Idempotency-Key; a dry run is kept no
   * longer.
   */
  idempotencyMs: 24 * HOUR_MS,
  idempotencyKeyCharsMax: 255,
  /** An answer that could not be written out is repeated for this time to the identical upload. */
  lostAnswerMs: 10 * MINUTE_MS,
  /** Raw uploads are kept this long (contract §5). */
  uploadKeepMs: 30 * DAY_MS,
  /**
   * Uploads of one tenant that are arriving, waiting or in work; more get 429. Each takes a worker
   * about a second.
   */
  uploadsWaitingPerTenantMax: 200,
  /**
   * The same for one runner: a quarter, so that a runner with many slow bodies leaves room for the
   * others of its tenant. Half of it would hold up a runner that empties its spool.
   */
  uploadsWaitingPerRunnerMax: 50,
  /** `GET /ingest/jobs/{id}?wait=`. */
  jobWaitSecondsMax: 60,
  fingerprintsCheckMax: 50_000,
  fingerprintCharsMax: 512,

  /**
   * Expected interval of a runner that doesn't announce the doorbell (RP §4.1: agents beat each 60
   * s).
   */
  heartbeatDefaultMs: 60 * SECOND_MS,
  heartbeatIdleMs: 30 * SECOND_MS,
  heartbeatBusyMs: 5 * SECOND_MS,
  heartbeatMinMs: 5 * SECOND_MS,
  heartbeatMaxMs: 300 * SECOND_MS,
  /** The fraction by which advised intervals are spread, so that a fleet doesn't march in step. */
  heartbeatJitter: 0.1,
  /**
   * A runner is never shown offline earlier than this after its last sign of life (contract §3).
   */
  offlineAfterMsMin: 90 * SECOND_MS,
  /** Presence is written at most this often; a crash costs one such interval of liveness. */
  presenceFlushMs: 5 * SECOND_MS,
  /**
   * A runner whose clock is off by more is shown with a warning: its reports and certificates
   * suffer.
   */
  clockSkewWarnMs: 30 * SECOND_MS,
  /**
   * Points of one chart at most: more than a screen has columns for, and one answer stays below 200
   * KiB.
   */
  chartPointsMax: 1000,
  /** Points of a chart whose step is left to the server. */
  chartPointsDefault: 360,
  heartbeatReportedBytesMax: 64 * KiB,

  /** Poll: `limit` (RP §5.1). */
  pollLimitDefault: 10,
  pollLimitMax: 100,
  /** The shortest lease; the real one is the larger of this and three intervals (contract §4). */
  leaseMsMin: 90 * SECOND_MS,
  commandTimeoutMsDefault: 1 * HOUR_MS,
  commandTimeoutMsMax: 7 * DAY_MS,
  commandAttemptsDefault: 3,
  commandAttemptsMax: 20,
  /**
   * Waiting commands of one tenant: ten for each of ten thousand runners; a loop must not fill the
   * table.
   */
  commandsPendingPerTenantMax: 100_000,
  /**
   * The newest attempts of a command among which returned ones are kept; older returned attempts
   * are dropped.
   */
  commandReleasesKept: 20,
  commandPayloadBytesMax: 1 * MiB,
  commandResultBytesMax: 1 * MiB,
  /**
   * The beginning that is kept of a larger result, as text: twice as long inside JSON, it is still
   * no larger than a result may be.
   */
  commandResultStartBytes: 256 * KiB,
  /** `GET /commands?wait=`: proxies end connections that are silent for longer. */
  pollWaitSecondsMax: 60,
  /**
   * The log of one command: about as much as a person reads, and a scanner's whole output on a
   * quiet day.
   */
  commandLogLinesMax: 100_000,
  commandLogBytesMax: 10 * MiB,
  /** One line; a longer one is cut visibly. */
  commandLogLineBytesMax: 8 * KiB,
  /** Lines in one call: at 100 bytes a line well within a body. */
  commandLogLinesPerCallMax: 1000,
  /** Lines that one answer shows. */
  commandLogPageLines: 2000,
  /** Uploads shown with a command. */
  commandUploadsShown: 100,
  /** The same session opened again within this time is a repeat of a call whose answer was lost. */
  scanSessionRepeatMs: 10 * MINUTE_MS,
  /** A scan session without a call for this time has timed out. */
  scanSessionMs: 24 * HOUR_MS,
  /** Failure messages are cut to this (RP §5.3). */
  commandErrorBytesMax: 4 * KiB,

  /** Enrolled and renewed keys (contract §7). */
  keyLifeMs: 90 * DAY_MS,
  /** The presented key lives for this time after the new key's first use. */
  keyGraceMs: 15 * MINUTE_MS,
  /**
   * And for this time after the renewal while two installations share the key: the other one renews
   * later.
   */
  keyOverlapMs: DAY_MS,
  renewBurst: 5,
  renewEveryMs: 120 * SECOND_MS,
  enrolmentTokenLifeMs: 7 * DAY_MS,
  /**
   * Refused credentials for each peer address: a burst, then one in this time. Valid keys are never
   * limited by it.
   */
  authFailureBurst: 30,
  authFailureEveryMs: 1 * SECOND_MS,
  /** CIDR blocks of one key: each is checked for every call with that key. */
  keyAllowListMax: 50,
  /**
   * A verified key is believed for this time without asking the database: a revocation is effective
   * within it.
   */
  keyCacheMs: 900,

  /** Lists (keyset pages). */
  pageLimitDefault: 50,
  pageLimitMax: 250,

  /** Text caps, characters; a cut text ends in `…`, and cuts are counted (CTIS §4.5). */
  nameCharsMax: 255,
  titleCharsMax: 500,
  ruleIdCharsMax: 500,
  pathCharsMax: 2048,
  messageCharsMax: 8 * KiB,
  descriptionCharsMax: 32 * KiB,
  snippetCharsMax: 16 * KiB,
  tagsMax: 50,
  referencesMax: 100,
  locationsMax: 100,
  propertiesBytesMax: 64 * KiB,
} as const;
