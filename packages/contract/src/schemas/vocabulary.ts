// The closed word lists of the wire as schemas and types; the words themselves stand in words.ts,
// each list once.

import Type, { type Static } from 'typebox';
import {
  ASSET_KINDS,
  COMMAND_STATUSES,
  FINDING_STATUSES,
  FINDING_TYPES,
  KEY_SCOPES,
  KEY_STATES,
  PRESENCES,
  PRIORITIES,
  ROLES,
  RUNNER_ADMIN_STATES,
  RUNNER_HEALTHS,
  RUNNER_METRICS,
  RUNNER_WARNINGS,
  SEVERITIES,
  UPLOAD_FAULTS,
  UPLOAD_STATES,
} from './words.ts';

export const Severity = Type.Enum(SEVERITIES);
export type Severity = Static<typeof Severity>;

export const FindingType = Type.Enum(FINDING_TYPES);
export type FindingType = Static<typeof FindingType>;

export const FindingStatus = Type.Enum(FINDING_STATUSES);
export type FindingStatus = Static<typeof FindingStatus>;

/** The statuses that a list of findings is asked for. */
export const FindingStatusFilter = Type.Enum([...FINDING_STATUSES, 'active'], {
  description: '`active`: open, confirmed or in progress',
});
export type FindingStatusFilter = Static<typeof FindingStatusFilter>;

export const CommandStatus = Type.Enum(COMMAND_STATUSES);
export type CommandStatus = Static<typeof CommandStatus>;

export const Priority = Type.Enum(PRIORITIES);
export type Priority = Static<typeof Priority>;

export const RunnerAdmin = Type.Enum(RUNNER_ADMIN_STATES);
export type RunnerAdmin = Static<typeof RunnerAdmin>;

export const Presence = Type.Enum(PRESENCES);
export type Presence = Static<typeof Presence>;

export const RunnerHealth = Type.Enum(RUNNER_HEALTHS, {
  description: 'by the `status` that it said last; null: it never said one',
});
export type RunnerHealth = Static<typeof RunnerHealth>;

export const RunnerWarning = Type.Enum(RUNNER_WARNINGS);

export const RunnerMetric = Type.Enum(RUNNER_METRICS);
export type RunnerMetric = Static<typeof RunnerMetric>;

export const Role = Type.Enum(ROLES);
export type Role = Static<typeof Role>;

export const KeyScope = Type.Enum(KEY_SCOPES);
export type KeyScope = Static<typeof KeyScope>;

export const KeyState = Type.Enum(KEY_STATES);
export type KeyState = Static<typeof KeyState>;

export const UploadState = Type.Enum(UPLOAD_STATES);
export type UploadState = Static<typeof UploadState>;

export const UploadFault = Type.Enum(UPLOAD_FAULTS);
export type UploadFault = Static<typeof UploadFault>;

export const AssetKind = Type.Enum(ASSET_KINDS);
export type AssetKind = Static<typeof AssetKind>;
