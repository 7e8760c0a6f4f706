// The members that SARIF 2.1.0 (OASIS, errata 01) knows, by object, with its § numbers. Readers
// compare with this list to warn about members that the standard doesn't know.

/** Members known to the standard; others are warned about and ignored. */
export const SARIF_MEMBERS = {
  /** §3.13 */
  log: ['$schema', 'version', 'runs', 'inlineExternalProperties', 'properties'],
  /** §3.14 */
  run: `externalPropertyFileReferences automationDetails runAggregates baselineGuid tool language
    taxonomies translations policies invocations conversion versionControlProvenance
    originalUriBaseIds artifacts specialLocations logicalLocations addresses threadFlowLocations
    graphs webRequests webResponses results defaultEncoding defaultSourceLanguage
    newlineSequences columnKind redactionTokens properties`.split(/\s+/),
  /** §3.27 */
  result: `ruleId ruleIndex rule kind level message analysisTarget locations guid correlationGuid
      occurrenceCount partialFingerprints fingerprints stacks codeFlows graphs graphTraversals
      relatedLocations suppressions baselineState rank attachments hostedViewerUri workItemUris
      provenance fixes taxa webRequest webResponse properties`.split(/\s+/),
} as const;
