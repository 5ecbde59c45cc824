#include "actors/http/dashboard.hpp"

namespace cdc::actors::http {

// Text reaches the page by textContent alone, so that no name of a table or error is ever markup.
std::string_view dashboard_page() noexcept {
  return R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cdc-actors</title>
<style>
  :root { --ink: #1c2330; --soft: #66708a; --line: #d5dae4; --page: #f6f7fa; --card: #fff;
          --good: #1f8f5f; --warm: #c77700; --bad: #c22f3d; --flow: #3567d6; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e4e8f1; --soft: #97a1b8; --line: #333b4d; --page: #12161f; --card: #1b212d;
            --good: #4cc38a; --warm: #f0a23b; --bad: #f2616d; --flow: #7da2ff; } }
  * { box-sizing: border-box; }
  body { margin: 0; padding: 1.25rem; background: var(--page); color: var(--ink);
         font: 14px/1.45 system-ui, sans-serif; }
  header, section { max-width: 1100px; margin: 0 auto 1rem; }
  header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
  h1 { font-size: 1.15rem; margin: 0; } h2 { font-size: 1rem; margin: 0; }
  .soft { color: var(--soft); } .bad { color: var(--bad); }
  .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem; }
  .head { display: flex; gap: .9rem; align-items: baseline; flex-wrap: wrap; margin-bottom: .8rem; }
  .state { padding: .05rem .55rem; border-radius: 1rem; color: #fff; background: var(--soft);
           font-size: .8rem; }
  .streaming, .running { background: var(--good); } .loading, .starting { background: var(--flow); }
  .reconnecting { background: var(--warm); } .halted, .stopped, .failed { background: var(--bad); }
  .flow { display: flex; align-items: stretch; gap: .2rem; overflow-x: auto; padding-bottom: .3rem; }
  .stage { flex: 1 1 150px; min-width: 150px; border: 1px solid var(--line); border-radius: 8px;
           padding: .5rem .65rem; position: relative; overflow: hidden; }
  .stage.slowest { border-color: var(--warm); box-shadow: 0 0 0 1px var(--warm); }
  .stage b { display: block; }
  .bar { height: 4px; border-radius: 2px; background: var(--line); margin: .35rem 0; }
  .bar i { display: block; height: 100%; border-radius: 2px; background: var(--flow); }
  .slowest .bar i { background: var(--warm); }
  .arrow { align-self: center; color: var(--soft); text-align: center; min-width: 70px;
           font-size: .8rem; }
  .arrow svg { display: block; width: 100%; height: 12px; }
  .arrow path { stroke: var(--flow); fill: none; stroke-width: 2; stroke-dasharray: 6 5; }
  .moving path { animation: move .6s linear infinite; }
  @keyframes move { to { stroke-dashoffset: -11; } }
  @media (prefers-reduced-motion: reduce) { .moving path { animation: none; } }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
  th { text-align: left; font-weight: 500; color: var(--soft); }
  th, td { padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
  td.grow { width: 40%; white-space: normal; }
  .tree td:first-child { white-space: pre; font-family: ui-monospace, monospace; }
  .wide { overflow-x: auto; }
  form { display: none; gap: .5rem; }
</style>
</head>
<body>
<header>
  <h1>cdc-actors</h1><span class="soft" id="process"></span><span class="bad" id="trouble"></span>
  <form id="ask"><input id="token" type="password" placeholder="bearer token" autocomplete="off">
  <button>open</button></form>
</header>
<section id="pipelines"></section>
<section class="card wide"><table class="tree"><thead><tr><th>actor<th>state<th>doing<th>busy<th>no
credit<th>mailbox<th>may send<th>owes<th>keeps<th>restarts</tr></thead><tbody id="tree"></tbody></table>
</section>
<script>
'use strict';
const $ = id => document.getElementById(id);
let token = '';
const make = (tag, kind, text) => {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
};
const put = (into, ...parts) => { into.append(...parts); return into; };
const count = n => Math.round(n).toLocaleString('en');
const bytes = n => {
  let unit = 0;
  for (; n >= 1024 && unit < 5; ++unit) n /= 1024;
  return (unit && n < 10 ? n.toFixed(1) : Math.round(n)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit];
};
const time = s => s == null ? '' : s < 10 ? s.toFixed(1) + ' s' : s < 60 ? Math.round(s) + ' s'
  : s < 3600 ? Math.floor(s / 60) + ' min' : s < 86400 ? (s / 3600).toFixed(1) + ' h'
  : (s / 86400).toFixed(1) + ' d';
const share = part => part < 0.005 ? '' : Math.round(part * 100) + ' %';
const credit = c => c.blocks ? c.blocks + ' · ' + bytes(c.bytes) : '';
const walk = (actors, visit, deep = 0) => actors.forEach(actor => {
  visit(actor, deep);
  walk(actor.children, visit, deep + 1);
});

const arrow = (label, moves) => {
  const made = make('div', 'arrow' + (moves ? ' moving' : ''));
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 70 12');
  svg.setAttribute('preserveAspectRatio', 'none');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', 'M0 6 H66 M60 2 L66 6 L60 10');
  svg.append(path);
  return put(made, make('span', '', label), svg);
};
const stage = (name, note, busy, slowest) => {
  const bar = make('div', 'bar'), part = make('i');
  part.style.width = Math.round(busy * 100) + '%';
  bar.append(part);
  return put(make('div', 'stage' + (slowest ? ' slowest' : '')), make('b', '', name), bar,
             make('span', 'soft', note));
};

const drawFlow = (of, actors) => {
  const busyOf = kind => Math.max(0, ...actors.filter(a => a.kind === kind).map(a => a.busy_share));
  const nameOf = kind => (actors.find(a => a.kind === kind) || { name: kind }).name;
  const rows = of.rates.streamed_rows_per_second + of.rates.copied_rows_per_second;
  const slow = of.bottleneck ? of.bottleneck.stage : '';
  const line = put(make('div', 'flow'),
    stage(nameOf('source'), of.source + ' · ' + of.positions.current, busyOf('source'),
          slow === nameOf('source')),
    arrow(count(rows) + ' rows/s', rows > 0),
    stage(nameOf('engine'), of.load.finished ? 'stream' : 'load and stream', busyOf('engine'),
          slow === nameOf('engine')));
  const sinks = make('div');
  of.sinks.forEach(sink => sinks.append(stage(sink.sink, sink.flavor + ' · ' + sink.acknowledged +
    ' · ' + count(sink.batches) + ' writes', Math.min(1, sink.writing_share),
    slow === sink.sink || (of.sinks.length === 1 && slow === nameOf('sink')))));
  sinks.style.flex = '1 1 150px';
  line.append(arrow(time(of.lag.seconds) + ' behind', rows > 0), sinks);
  return line;
};
const drawLoad = of => {
  const open = of.load.tables.filter(t => t.state !== 'loaded').slice(0, 20);
  if (!open.length) return '';
  const table = make('table');
  table.append(put(make('tr'), ...['table', '', 'rows', '%', 'rows/s', 'left'].map(h => make('th', '', h))));
  open.forEach(t => {
    const bar = make('div', 'bar'), part = make('i');
    part.style.width = t.percent + '%';
    bar.append(part);
    table.append(put(make('tr'), make('td', '', t.table), put(make('td', 'grow'), bar),
      make('td', '', count(t.rows) + ' of ' + count(t.rows_estimate)),
      make('td', '', t.percent.toFixed(1)), make('td', '', count(t.rows_per_second)),
      make('td', '', time(t.seconds_left))));
  });
  return table;
};
const drawPipeline = (of, tree) => {
  const mine = [];
  walk(tree, actor => { if (actor.pipeline === of.pipeline) mine.push(actor); });
  const head = put(make('div', 'head'), make('h2', '', of.pipeline), make('span', 'state ' + of.state, of.state),
    make('span', 'soft', 'lag ' + time(of.lag.seconds) + ', ' + bytes(of.lag.bytes)),
    make('span', 'soft', of.slots.map(s => s.slot + ' keeps ' + bytes(s.retained_bytes) + ' (' + s.wal_status + ')').join(' ')));
  const card = put(make('div', 'card'), head, drawFlow(of, mine));
  if (of.bottleneck) card.append(make('p', 'soft', 'paced by ' + of.bottleneck.stage + ': ' + of.bottleneck.why));
  if (of.load.paused) card.append(make('p', 'bad', 'the load waits: ' + of.load.paused));
  if (of.last_error) card.append(make('p', 'bad', of.last_error.at + ' ' + of.last_error.text));
  card.append(drawLoad(of));
  card.style.marginBottom = '1rem';
  return card;
};
const drawActor = (a, deep) => put(make('tr'),
  make('td', '', '   '.repeat(deep) + (deep ? '└ ' : '') + a.name),
  put(make('td'), make('span', 'state ' + (a.state === 'stopped' ? '' : a.state), a.state)),
  make('td', '', [a.doing, a.about, a.in_handler_seconds > 1 ? 'for ' + time(a.in_handler_seconds) : ''].filter(Boolean).join(' ')),
  make('td', '', share(a.busy_share)), make('td', '', share(a.starved_share)),
  make('td', '', a.mailbox.max ? a.mailbox.depth + ' / ' + a.mailbox.max : ''), make('td', '', credit(a.credit_held)),
  make('td', '', credit(a.credit_owed)), make('td', '', a.in_flight_bytes ? bytes(a.in_flight_bytes) : ''),
  make('td', a.last_error ? 'bad' : '', (a.restarts || '') + (a.last_error ? ' ' + a.last_error.text : '')));

const get = async path => {
  const answer = await fetch(path, { headers: token ? { Authorization: 'Bearer ' + token } : {} });
  if (answer.status === 401) { $('ask').style.display = 'flex'; throw new Error('a token is needed'); }
  if (!answer.ok) throw new Error(path + ': ' + answer.status);
  return answer.json();
};
const turn = async () => {
  try {
    const [status, tree] = await Promise.all([get('status'), get('actors')]);
    $('trouble').textContent = '';
    $('process').textContent = status.node + ' · ' + status.version + ' · up ' + time(status.uptime_seconds);
    $('pipelines').replaceChildren(...status.pipelines.map(of => drawPipeline(of, tree.actors)));
    const rows = [];
    walk(tree.actors, (actor, deep) => rows.push(drawActor(actor, deep)));
    $('tree').replaceChildren(...rows);
  } catch (trouble) { $('trouble').textContent = trouble.message; }
  setTimeout(turn, document.hidden ? 5000 : 1000);
};
$('ask').addEventListener('submit', event => {
  event.preventDefault();
  token = $('token').value;
  $('ask').style.display = 'none';
});
turn();
</script>
</body>
</html>
)html";
}

} // namespace cdc::actors::http
