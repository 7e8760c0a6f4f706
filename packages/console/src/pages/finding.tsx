// One finding: what it is, where it is, what decides its severity, its history; and the form that
// sets its status.

import { endpoints, type ReplyOf } from '@muster/contract';
import { request, useMayChange, useOne } from '../api.ts';
import { type Fact, Facts, Section } from '../components/facts.tsx';
import { Foreign, ForeignBlock, ForeignLink } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { History } from '../components/findings/history.tsx';
import { OneView } from '../components/one-view.tsx';
import { Flows, Places } from '../components/findings/places.tsx';
import { PropertyBags } from '../components/findings/property-bags.tsx';
import { StatusForm } from '../components/findings/status-form.tsx';
import { SeverityTag, StateTag } from '../components/findings/tags.tsx';
import { Time } from '../components/time.tsx';
import { type Detail, readDetail } from '../detail.ts';
import { placeText, words } from '../format.ts';
import { hrefTo } from '../route.ts';

type FindingWithDetail = ReplyOf<typeof endpoints.showFinding>;

const BACK = { href: hrefTo('findings'), label: 'Findings' };

export function FindingPage({ id }: { readonly id: string }) {
  const query = useOne(['finding', id], (signal) =>
    request(endpoints.showFinding, { params: { id }, signal }),
  );
  return (
    <OneView query={query} noun="finding" back={BACK}>
      {(finding) => <FindingView finding={finding} />}
    </OneView>
  );
}

function FindingView({ finding }: { readonly finding: FindingWithDetail }) {
  const mayChange = useMayChange();
  const detail = readDetail(finding.detail);
  return (
    <>
      <Heading
        title={finding.title}
        back={BACK}
        lead={
          <span className="tags">
            <SeverityTag severity={finding.severity} />
            <StateTag state={finding.status} />
            <span>
              since <Time iso={finding.status_at} />, by <Foreign text={finding.status_by} />
            </span>
          </span>
        }
      />
      <Message detail={detail} title={finding.title} />
      <div className="columns">
        <div>
          <Description detail={detail} title={finding.title} />
          <Places title="Where" places={detail.places} />
          <Flows flows={detail.flows} />
          <Places title="Related places" places={detail.relatedPlaces} />
          <References detail={detail} />
          <PropertyBags bags={detail.bags} />
          <History finding={finding} />
        </div>
        <div>
          {mayChange ? (
            <Section title="Decide">
              {/* Made anew when the status changes: the form shows the present one. */}
              <StatusForm key={finding.status_at} finding={finding} onDone={nothing} />
            </Section>
          ) : null}
          <Section title="About it">
            <Facts facts={factsOf(finding, detail)} />
          </Section>
        </div>
      </div>
    </>
  );
}

/** The page itself shows the new status, and the shell tells of it. */
const nothing = (): void => {};

interface Texts {
  readonly detail: Detail;
  readonly title: string;
}

/**
 * The message of the tool, above everything else, on narrow screens as well. A tool that
 * has nothing to say repeats the title, which the heading shows already.
 */
function Message({ detail: { message }, title }: Texts) {
  if (message === null || message === title) return null;
  return (
    <Section title="Message">
      <Prose text={message} />
    </Section>
  );
}

/** What else describes it and its rule: no text that was there before. */
function Description({ detail, title }: Texts) {
  const { description, ruleDescription, evidence } = detail;
  const texts = [...new Set([description, ruleDescription])].filter(
    (text) => text !== null && text !== title && text !== detail.message,
  );
  if (texts.length === 0 && evidence === null) return null;
  return (
    <Section title="Description">
      {texts.map((text) => (text === null ? null : <Prose key={text} text={text} />))}
      {evidence === null ? null : <ForeignBlock text={evidence} />}
    </Section>
  );
}

function Prose({ text }: { readonly text: string }) {
  return (
    <p className="prose foreign" dir="auto">
      {text}
    </p>
  );
}

function References({ detail: { references, ruleHelp } }: { readonly detail: Detail }) {
  const addresses = [...new Set([...(ruleHelp === null ? [] : [ruleHelp]), ...references])];
  if (addresses.length === 0) return null;
  return (
    <Section title="References">
      <ul>
        {addresses.map((address) => (
          <li key={address}>
            <ForeignLink address={address} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function factsOf(finding: FindingWithDetail, detail: Detail): Fact[] {
  const place = placeText(finding.path, finding.start_line);
  return [
    [
      'Asset',
      <a key="asset" href={hrefTo('findings', null, { asset_id: finding.asset_id })}>
        <Foreign text={finding.asset} />
      </a>,
    ],
    ['Place', place === null ? null : <Foreign text={place} />],
    ['Component', detail.component === null ? null : <Foreign text={detail.component} />],
    ['Tool', <Foreign key="tool" text={finding.tool} />],
    ['Rule', <Foreign key="rule" text={finding.rule_id} />],
    ['Rule name', detail.ruleName === null ? null : <Foreign text={detail.ruleName} />],
    ['Type', words(finding.type)],
    ['Category', finding.category === '' ? null : <Foreign text={finding.category} />],
    ['Identifiers', detail.identifiers.length === 0 ? null : detail.identifiers.join(', ')],
    ['Tags', detail.tags.length === 0 ? null : <Foreign text={detail.tags.join(', ')} />],
    ['Left out for size', detail.omitted.length === 0 ? null : detail.omitted.join(', ')],
    ['Severity from', detail.severityFrom],
    ['Severity', finding.severity_overridden ? 'set by an operator' : null],
    ['Resolution', finding.resolution === null ? null : words(finding.resolution)],
    [
      'Accepted until',
      finding.accepted_until === null ? null : <Time iso={finding.accepted_until} />,
    ],
    ['First seen', <Time key="first" iso={finding.first_seen_at} />],
    ['Last seen', <Time key="last" iso={finding.last_seen_at} />],
    ['Recognised by', words(finding.matched_by)],
    ['Id', <code key="id">{finding.id}</code>],
  ];
}
