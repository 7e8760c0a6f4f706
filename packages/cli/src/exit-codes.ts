// The meaning of the exit codes, once: `muster help exit-codes` and README.md show this table, and
// a test compares them.

export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  partial: 4,
  unauthorised: 5,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANING: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'done',
  refused: 'the server refused the request or failed at it',
  usage: 'the command line is not right, or a file named on it can not be used; nothing was sent',
  unreachable: 'no Muster server answered at that address',
  partial: 'the upload was accepted, but some of its items were rejected',
  unauthorised: 'the token or key is missing, wrong, expired or revoked, or its role is not enough',
};
