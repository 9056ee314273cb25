// The page /ui of the service.  Every text goes through textContent: names of
// limits and callers may be anything.
'use strict';

(() => {
  const {element, count, figures, chart, table, sparkline} = pages;
  const POLL_MS = 5000;
  const MOST_LINES = 2000;  // of the tree
  const KINDS = [
    ['allowed', 'allowed', 4], ['limited', 'limited', 2],
    ['shadow', 'in shadow', 3],
  ];
  const at = (id) => document.getElementById(id);
  const zone = () => -60 * new Date().getTimezoneOffset();
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  // A name with its %XX decoded, unless that would hide what it is: ":", "=",
  // a blank and "%" stay.
  function shown(name) {
    try {
      const text = decodeURIComponent(name.replace(/%(?=20|25|3A|3D)/g, '%25'));
      return /\p{C}/u.test(text) ? name : text;
    } catch {
      return name;
    }
  }

  function when(ms) {
    return pages.time(ms / 1000, zone(), 1);
  }

  // Per second, for each interval.
  function rates(data, limit, kind) {
    const counts = limit[kind] ?? Array(data.intervals).fill(0);
    return counts.map((one) => one / (data.interval_ms / 1000));
  }

  // Of the last minute.
  function rate(data, limit, kind) {
    const last = rates(data, limit, kind).slice(-60000 / data.interval_ms);
    return last.length ? sum(last) / last.length : 0;
  }

  function showFigures(data) {
    const per = (kind) => rate(data, data.all, kind);
    at('figures').replaceChildren(figures([
      ['allowed', per('allowed'), 'a second, last minute'],
      ['limited', per('limited'), 'a second, last minute'],
      ['in shadow', per('shadow'), 'a second, would be limited'],
      ['errors', data.counters.errors, 'since the start'],
      ['limits', data.counters.limits, 'in the tree'],
    ]));
  }

  function showNotes(data) {
    const notes = [];
    if (data.shadow_mode) {
      notes.push('The service is in shadow mode: it denies nothing.');
    }
    for (const one of data.load.mistakes) {
      notes.push(`Not loaded, the limits are as before: ${one}`);
    }
    if (data.store.answers === false) notes.push('The store does not answer.');
    if (!data.per_limit) {
      notes.push('The tree has too many limits to show rates of each.');
    }
    at('notes').replaceChildren(
        ...notes.map((one) => element('p', {class: 'sign-limited'}, one)));
  }

  function showService(data) {
    const load = data.load;
    const kept = data.counters;
    const all = [
      ['loaded', load.loaded, `refused ${count(load.refused)} times`],
      ['last load', when(load.last_ms), data.limits_file],
      ['store', data.store.kind, data.store.answers === undefined ? '' :
        data.store.answers ? 'answers' : 'does not answer'],
      ['store errors', kept.store_errors ?? 0, 'since the start'],
    ];
    if (kept.max_buckets) {
      all.push(['buckets', kept.buckets,
        `of ${count(kept.max_buckets)}, ${count(kept.evictions)} evicted`]);
    }
    if (kept.round_trips) {
      all.push(['round trip', kept.round_trip_ns / kept.round_trips / 1e6,
        'ms, mean since the start']);
    }
    at('service').replaceChildren(figures(all));
  }

  function requestData(data) {
    return {
      begin: data.end_ms / 1000 -
          data.interval_ms / 1000 * Math.max(data.intervals - 1, 0),
      step: data.interval_ms / 1000,
      offset: zone(),
      series: KINDS.map(([kind, name, tone]) => ({
        name, tone, values: rates(data, data.all, kind),
      })),
      total: ({values}) =>
          `${count(values.length ? sum(values) / values.length : 0)}/s`,
    };
  }

  function limitRows(data) {
    const all = [...data.limits];
    if (Object.keys(data.others).length) {
      all.push({...data.others, name: '(all others)'});
    }
    return all.map((limit) => ({
      name: shown(limit.name),
      allowed: rate(data, limit, 'allowed'),
      limited: rate(data, limit, 'limited'),
      shadow: rate(data, limit, 'shadow'),
      line: sparkline(
          rates(data, limit, limit.limited ? 'limited' : 'shadow'),
          `${limit.limited ? 'limited' : 'in shadow'} in the last minutes`,
          limit.limited ? 2 : 3),
    }));
  }

  const LIMIT_COLUMNS = [
    {title: 'limit', key: 'name', head: true},
    {title: 'limited/s', key: 'limited', number: true},
    {title: 'in shadow/s', key: 'shadow', number: true},
    {title: 'allowed/s', key: 'allowed', number: true},
    {title: 'limited', cell: (row) => row.line},
  ];

  // A path that the form can take: one path of the tree, not cut off.
  function isPath(caller) {
    return caller.whole && !/[ =]/.test(caller.caller);
  }

  function callerName(row) {
    if (!row.isPath) return row.name;
    const button = element('button', {type: 'button'}, row.name);
    button.addEventListener('click', () => {
      at('path').value = row.path;
      at('path').focus();
    });
    return button;
  }

  const DENIED_COLUMNS = [
    {title: 'caller', key: 'name', head: true, cell: callerName},
    {title: 'limited', key: 'limited', number: true},
    {title: 'in shadow', key: 'shadow', number: true},
  ];

  function deniedRows(data) {
    return data.denied.map((one) => ({
      name: shown(one.caller), path: one.caller, isPath: isPath(one),
      limited: one.limited, shadow: one.shadow,
    }));
  }

  // Draws into the element `id` first, then updates, but not what the keyboard
  // is in: it would lose its place.
  function kept(id, make) {
    let made = null;
    return (value) => {
      if (made === null) {
        made = make(at(id), value);
      } else if (!at(id).querySelector('tbody')?.contains(
          document.activeElement)) {
        made.update(value);
      }
    };
  }

  const showRequests = kept('requests', (parent, value) =>
      chart(parent, 'Requests a second in the last minutes', value));
  const showLimits = kept('limits', (parent, rows) => table(parent, {
    caption: 'Limits, in the last minute', columns: LIMIT_COLUMNS, rows,
    sort: 'limited', filter: 'Filter limits',
    empty: 'no limit has been met lately',
  }));
  const showDenied = kept('denied', (parent, rows) => table(parent, {
    caption: 'Callers that are limited now', columns: DENIED_COLUMNS, rows,
    sort: 'limited', filter: 'Filter callers', empty: 'nobody',
  }));

  let canReset = null;

  function show(data) {
    showNotes(data);
    showFigures(data);
    showRequests(requestData(data));
    showLimits(limitRows(data));
    showDenied(deniedRows(data));
    showService(data);
    at('state').textContent = `as of ${when(data.end_ms)}`;
    if (canReset === data.can_reset) return;
    canReset = data.can_reset;
    at('reset').hidden = !canReset;
    at('read-only').hidden = canReset;
  }

  let polling = false;

  // One at a time, however slow the service is.
  async function poll() {
    if (document.hidden || polling) return;
    polling = true;
    try {
      const answer = await fetch('ui/data.json',
                                 {signal: AbortSignal.timeout(20_000)});
      if (!answer.ok) throw new Error(`the service answers ${answer.status}`);
      show(await answer.json());
    } catch (error) {
      at('state').textContent = `no new data: ${error.message}`;
    } finally {
      polling = false;
    }
  }

  // ---- A path ---------------------------------------------------------------

  function segments() {
    return at('path').value.trim().split(':').map(decodeURIComponent);
  }

  async function ask(operation, body, headers = {}) {
    const answer = await fetch(`v1/${operation}`, {
      method: 'POST', body: JSON.stringify(body),
      headers: {'content-type': 'application/json', ...headers},
    });
    const said = await answer.json().catch(() => ({}));
    // 429 is an answer, too.
    if (!answer.ok && said.limited === undefined) {
      throw new Error(said.detail ?? `the service answers ${answer.status}`);
    }
    return said;
  }

  function seconds(ns) {
    return ns === undefined ? '-' : `${count(Math.ceil(ns / 1e6) / 1e3)} s`;
  }

  const LEVEL_COLUMNS = [
    {title: 'limit', key: 'policy', head: true},
    {title: 'answer', key: 'answer', cell: (row) => element(
        'span', {class: `sign-${row.sign}`}, row.answer)},
    {title: 'left after it', key: 'remaining', number: true},
    {title: 'of', key: 'limit', number: true},
    {title: 'fits in', key: 'retry_after_ns',
      cell: (row) => seconds(row.retry_after_ns)},
    {title: 'full in', key: 'reset_after_ns',
      cell: (row) => seconds(row.reset_after_ns)},
  ];

  async function look() {
    const cost = Number(at('cost').value);
    const answer = await ask('peek', {paths: [segments()], cost});
    at('said').textContent = answer.unlimited ? 'No limit on this path.' :
        `It would be ${answer.limited ? 'limited' : 'allowed'} now.`;
    const rows = answer.levels.map((level) => ({
      ...level,
      answer: level.limited ? level.mode === 'shadow' ? 'limited, in shadow' :
          'limited' : 'allowed',
      sign: !level.limited ? 'allowed' :
          level.mode === 'shadow' ? 'shadow' : 'limited',
    }));
    at('levels').replaceChildren();
    if (rows.length) {
      table(at('levels'), {
        caption: 'Limits on the path', columns: LEVEL_COLUMNS, rows,
      });
    }
  }

  function onSubmit(id, act) {
    at(id).addEventListener('submit', async (event) => {
      event.preventDefault();
      try {
        await act();
      } catch (error) {
        at('said').textContent = error instanceof URIError ?
            'The path has a wrong %XX.' : `Not done: ${error.message}`;
      }
    });
  }

  onSubmit('try', look);
  onSubmit('reset', async () => {
    if (!at('path').reportValidity()) return;
    await ask('reset', {paths: [segments()]},
              {authorization: `Bearer ${at('token').value}`});
    await look();
    at('said').textContent = `Reset. ${at('said').textContent}`;
  });

  // ---- The tree -------------------------------------------------------------

  let lines = null;

  function showTree() {
    if (lines === null) return;
    const wanted = at('tree-filter').value.toLowerCase();
    const found = lines.filter((one) => one.toLowerCase().includes(wanted));
    at('tree').textContent = found.slice(0, MOST_LINES).join('\n');
    at('tree-said').textContent = found.length > MOST_LINES ?
        `the first ${count(MOST_LINES)} of ${count(found.length)} lines` :
        `${count(found.length)} lines`;
    at('tree-box').hidden = false;
  }

  at('tree-filter').addEventListener('input', showTree);
  at('show-tree').addEventListener('click', async () => {
    try {
      const answer = await fetch('limits');
      if (!answer.ok) throw new Error(`the service answers ${answer.status}`);
      lines = (await answer.text()).trimEnd().split('\n');
      showTree();
    } catch (error) {
      at('tree-said').textContent = error.message;
    }
  });

  at('top').append(pages.themeButton());
  document.addEventListener('visibilitychange', poll);
  poll();
  setInterval(poll, POLL_MS);
})();
