// Every command, in the order in which help lists them. A command that isn't in this list can't be
// called.

import type { Command } from '../command.ts';
import { assetCommands } from './assets.ts';
import { commandCommands } from './commands.ts';
import { findingCommands } from './findings.ts';
import { keyCommands } from './keys.ts';
import { me } from './me.ts';
import { runnerCommands } from './runners.ts';
import { scanCommands } from './scans.ts';
import { serverCommands } from './serve.ts';
import { upload } from './upload.ts';
import { uploadsCommands } from './uploads.ts';

export const commands: readonly Command[] = [
  ...serverCommands,
  upload,
  ...uploadsCommands,
  ...findingCommands,
  ...assetCommands,
  ...runnerCommands,
  ...commandCommands,
  ...scanCommands,
  ...keyCommands,
  me,
];
