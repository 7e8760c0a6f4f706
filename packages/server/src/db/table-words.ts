// The closed word lists of columns, as the check constraints in migrations/* have them.

/** 0 or 1: both databases keep flags as integers. */
export type Flag = 0 | 1;
/** 0 critical, 1 high, 2 medium, 3 low, 4 info: the order in which lists show them. */
export type Severity = 0 | 1 | 2 | 3 | 4;
export type KeyKind = 'runner' | 'operator' | 'enrolment';
export type RunnerAdmin = 'active' | 'paused' | 'draining' | 'revoked';
export type Presence = 'never' | 'online' | 'late' | 'stopped' | 'offline';
export type Role = 'viewer' | 'analyst' | 'admin';
export type KeyState = 'candidate' | 'superseded' | 'proven' | 'retired' | 'revoked';
export type UploadFormat = 'auto' | 'ctis' | 'sarif';
export type Resolution = 'fixed' | 'by_operator';
