// The report of `limitree replay`, from the data in the page.
'use strict';

(() => {
  const {element, chart, sparkline, table, figures, count, percent, time} =
      pages;
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = document.querySelector('main');

  function spanOf(tree) {
    const {offset, requests} = tree.timeline;
    if (requests.length === 0) return 'no requests';
    const first = Date.parse(tree.from) / 1000;
    const last = Date.parse(tree.to) / 1000;
    return `${time(first, offset, 1)} to ${time(last, offset, 1)}`;
  }

  function showTotals(tree) {
    const of = tree.requests;
    const rows = [
      ['requests', of, `${count(tree.lines)} lines`],
      ['allowed', tree.allowed, percent(tree.allowed, of)],
      ['limited', tree.limited, percent(tree.limited, of)],
      ['shadowed', tree.shadowed, 'allowed by shadow mode only'],
      ['unlimited', tree.unlimited, 'met no limit'],
      ['out of order', tree.out_of_order, 'decided at the latest time before'],
      ['skipped', tree.skipped, 'refused by the limits'],
      ['bad lines', tree.bad, 'not in the format of the log'],
      ['forgotten', tree.evictions, 'buckets; raise --max-buckets'],
    ];
    // What is zero says nothing, except that nobody was limited.
    main.append(figures(rows.filter(([name, value]) =>
        value !== 0 || ['requests', 'allowed', 'limited'].includes(name))));
  }

  // A line that the limits refuse counts for each tree that does.
  function showNotes(trees) {
    const place = (one) => one.file === '-' ? 'standard input' : one.file;
    const row = (suffix) => (one) => ({place: `${place(one)}:${one.line}`,
                                       reason: one.reason + suffix});
    const rows = trees[0].bad_lines.map(row(''));
    let left = trees[0].bad;
    trees.forEach((tree, i) => {
      const which = trees.length === 1 ? '' : [' (before)', ' (after)'][i];
      rows.push(...tree.skipped_lines.map(row(which)));
      left += tree.skipped;
    });
    if (rows.length === 0) return;
    main.append(element('h2', {}, 'Lines left out'));
    left -= rows.length;
    table(main, {
      caption: 'Lines left out', sort: 'place', rows,
      columns: [{title: 'line', key: 'place', head: true},
                {title: 'reason', key: 'reason'}],
    });
    if (left > 0) {
      main.append(element('p', {class: 'quiet'}, `and ${count(left)} more`));
    }
  }

  function showTimes(tree) {
    const line = tree.timeline;
    main.append(element('h2', {}, 'Requests over time'));
    const series = [
      {name: 'requests', tone: 1, area: true, values: line.requests},
      {name: 'limited', tone: 2, values: line.limited},
    ];
    if (tree.shadowed !== 0) {
      series.push({name: 'shadowed', tone: 3, values: line.shadowed});
    }
    chart(main, 'Requests over time', {...line, series});
  }

  // One limit over time, which one chooses.
  function showLimitTimes(tree) {
    const names = Object.keys(tree.limit_timelines);
    if (names.length === 0) return;
    const choice = element('select', {}, ...names.map(
        (name) => element('option', {value: name}, name)));
    main.append(element('h2', {}, 'One limit over time'),
                element('p', {}, element('label', {}, 'Limit', choice)));
    const seriesOf = (name) => {
      const one = tree.limit_timelines[name];
      return {...tree.timeline, series: [
        {name: 'allowed', tone: 1, area: true, values: one.allowed},
        {name: 'limited', tone: 2, values: one.limited},
        {name: 'shadowed', tone: 3, values: one.shadow_limited},
        {name: 'near limit', tone: 4, values: one.near_limit}]};
    };
    const drawn = chart(main, 'One limit over time', seriesOf(names[0]));
    choice.addEventListener('change',
                            () => drawn.update(seriesOf(choice.value)));
  }

  function denials(tree, limit) {
    const line = tree.limit_timelines[limit.policy];
    if (!line) return '';
    const values = line.limited.map((one, i) => one + line.shadow_limited[i]);
    return sparkline(values, `denials of ${limit.policy} over time`, 2);
  }

  function marked(sign, value) {
    return value === 0 ? count(0) :
        element('span', {class: `sign-${sign}`}, count(value));
  }

  function showLimits(tree) {
    main.append(
        element('h2', {}, 'By limit'),
        element('p', {class: 'quiet'},
                'Shadowed: would have been limited, but the limit is in ' +
                'shadow mode. Near limit: allowed, and at most 20 % of the ' +
                'tokens were left.'));
    table(main, {
      caption: 'Limits', filter: 'Filter limits', sort: 'limited',
      empty: 'no request met a limit', rows: tree.limits,
      columns: [
        {title: 'limit', key: 'policy', head: true},
        {title: 'limited', key: 'limited', number: true,
         cell: (row) => marked('limited', row.limited)},
        {title: 'shadowed', key: 'shadow_limited', number: true,
         cell: (row) => marked('shadow', row.shadow_limited)},
        {title: 'near limit', key: 'near_limit', number: true},
        {title: 'allowed', key: 'allowed', number: true},
        {title: 'denials over time', cell: (row) => denials(tree, row)}],
    });
    if (tree.more_limits > 0) {
      main.append(element('p', {class: 'quiet'},
                          `and ${count(tree.more_limits)} limits more`));
    }
  }

  function showCallers(tree) {
    const rows = new Map();
    const take = (callers, name) => {
      for (const one of callers) {
        if (!rows.has(one.caller)) {
          rows.set(one.caller, {caller: one.caller, limited: 0, shadowed: 0,
                                errors: {}});
        }
        rows.get(one.caller)[name] = one.limited;
        rows.get(one.caller).errors[name] = one.error;
      }
    };
    take(tree.callers, 'limited');
    take(tree.shadow_callers, 'shadowed');
    const about = (name) => (row) =>
      (row.errors[name] > 0 ? '\u2264 ' : '') + count(row[name]);
    main.append(element('h2', {}, 'By caller'));
    table(main, {
      caption: 'Callers', filter: 'Filter callers', sort: 'limited',
      empty: 'nobody was limited', rows: [...rows.values()],
      columns: [
        {title: 'caller', key: 'caller', head: true},
        {title: 'limited', key: 'limited', number: true,
         cell: about('limited')},
        {title: 'shadowed', key: 'shadowed', number: true,
         cell: about('shadowed')}],
    });
    if ([...rows.values()].some((row) => row.errors.limited > 0)) {
      main.append(element(
          'p', {class: 'quiet'}, 'Counts marked \u2264 are at most ' +
          `${count(tree.callers_error_bound)} too large.`));
    }
  }

  const [tree] = data.trees;
  document.querySelector('header').append(
      element('h1', {}, 'limitree replay'), pages.themeButton());
  main.append(element('p', {}, `${tree.name} on ${data.logs.join(', ')}: ` +
                      spanOf(tree)));
  if (data.flips !== null) {
    compare(main, data.trees, data.flips);
  } else {
    showTotals(tree);
    showTimes(tree);
    showLimits(tree);
    showLimitTimes(tree);
    showCallers(tree);
  }
  showNotes(data.trees);
  main.append(element('p', {class: 'quiet'}, `limitree ${data.version}`));
})();
