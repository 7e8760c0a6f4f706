// The wire, both ends: what runners, operators and the server agree on. Start with endpoints/: the
// table of endpoints names every schema, error and limit.

export * from './client.ts';
export * from './ctis/members.ts';
export * from './ctis/report.ts';
export * from './endpoint.ts';
export { UploadQuery } from './endpoints/ingest.ts';
export * from './endpoints/index.ts';
export * from './errors.ts';
export * from './limits.ts';
export * from './openapi.ts';
export * from './sarif.ts';
export * from './sarif-members.ts';
export * from './schemas/command.ts';
export * from './schemas/shapes.ts';
export * from './schemas/finding.ts';
export * from './schemas/finding-detail.ts';
export * from './schemas/key.ts';
export * from './schemas/runner.ts';
export * from './schemas/scan-session.ts';
export * from './schemas/upload.ts';
export * from './schemas/vocabulary.ts';
export * from './schemas/words.ts';
