// Two trees of limits on the same log, side by side.
'use strict';

const compare = (() => {
  const {element, chart, table, figures, count, time} = pages;

  function signed(change) {
    return change > 0 ? `+${count(change)}` : count(change);
  }

  // One row for each limit or caller of either tree, with what `key` calls it.
  // `missing` has the numbers of a row that only the other tree has: 0, or null
  // if the list is not all there is.
  function joined([before, after], key, numbers, missing) {
    const rows = new Map();
    const take = (all, suffix) => {
      for (const one of all) {
        if (!rows.has(one[key])) {
          rows.set(one[key], {
            name: one[key],
            ...Object.fromEntries(numbers.flatMap(
                (name) => [[`${name}_before`, missing[0]],
                           [`${name}_after`, missing[1]]])),
          });
        }
        for (const name of numbers) {
          rows.get(one[key])[name + suffix] = one[name];
        }
      }
    };
    take(before, '_before');
    take(after, '_after');
    for (const row of rows.values()) {
      row.change = row.limited_after === null || row.limited_before === null ?
          null : row.limited_after - row.limited_before;
    }
    return [...rows.values()];
  }

  const CHANGE = {title: 'change', key: 'change', number: true,
                  cell: (row) => signed(row.change)};

  function showTotals(main, before, after) {
    const changed = ([name, label = name]) => [
      label, `${count(before[name])} \u2192 ${count(after[name])}`,
      `${signed(after[name] - before[name])} after the change`];
    // What the log or the memory spoils is shown only if there is any.
    const spoilt = [['out_of_order', 'out of order'], ['bad', 'bad lines'],
                    ['evictions', 'forgotten']]
        .filter(([name]) => before[name] + after[name] > 0);
    main.append(figures(
        [['limited'], ['shadowed'], ['unlimited'], ['skipped'], ...spoilt]
            .map(changed)));
  }

  function showTimes(main, before, after) {
    const line = before.timeline;
    const other = after.timeline;
    // Both saw the same log, but one may have refused its first requests.
    const same = line.begin === other.begin && line.step === other.step &&
        line.requests.length === other.requests.length;
    main.append(element('h2', {}, 'Limited over time, before and after'));
    const draw = (label, one, series) => chart(main, label, {
      begin: one.begin, step: one.step, offset: one.offset, series});
    if (same) {
      draw('Limited requests over time, before and after', line, [
        {name: 'limited before', tone: 1, values: line.limited},
        {name: 'limited after', tone: 2, values: other.limited}]);
    } else {
      draw('Limited requests over time, before', line, [
        {name: 'limited before', tone: 1, values: line.limited}]);
      draw('Limited requests over time, after', other, [
        {name: 'limited after', tone: 2, values: other.limited}]);
    }
  }

  function showLimits(main, before, after) {
    const missing = (isWhole) =>
        [before, after].map((tree) => isWhole(tree) ? 0 : null);
    main.append(element('h2', {}, 'By limit, before and after'));
    const pair = (title, name) => [
      {title: `${title} before`, key: `${name}_before`, number: true},
      {title: `${title} after`, key: `${name}_after`, number: true}];
    table(main, {
      caption: 'Limits, before and after', filter: 'Filter limits',
      sort: 'change',
      columns: [{title: 'limit', key: 'name', head: true},
                ...pair('limited', 'limited'), CHANGE,
                ...pair('shadowed', 'shadow_limited')],
      rows: joined([before.limits, after.limits], 'policy',
                   ['limited', 'shadow_limited'],
                   missing((tree) => tree.more_limits === 0)),
    });
    main.append(element('h2', {}, 'By caller, before and after'));
    table(main, {
      caption: 'Callers, before and after', filter: 'Filter callers',
      sort: 'change', empty: 'nobody was limited',
      columns: [{title: 'caller', key: 'name', head: true},
                ...pair('limited', 'limited'), CHANGE],
      // Each tree has the callers of the other, unless it had to forget some.
      rows: joined([before.callers, after.callers], 'caller', ['limited'],
                   missing((tree) => tree.callers_error_bound === 0)),
    });
  }

  // What it was, and what it becomes, with the sign of the latter.
  function change(row) {
    return element('span', {class: `sign-${row.after}`},
                   `${row.before} \u2192 ${row.after}`);
  }

  function showFlips(main, flips, offset) {
    main.append(element('h2', {}, 'Decisions that flip'));
    main.append(element(
        'p', {}, flips.total === 0 ? 'No decision flips.' :
            flips.total === 1 ? 'One request is decided differently.' :
                `${count(flips.total)} requests are decided differently.`));
    if (flips.total === 0) return;
    const changes = flips.limits.map(
        (one) => ({...one, change: `${one.before} \u2192 ${one.after}`}));
    const limit = {title: 'limit', key: 'policy', head: true,
                   cell: (row) => row.policy || '-'};
    const how = {title: 'change', key: 'change', cell: change};
    const number = {title: 'flips', key: 'flips', number: true};
    table(main, {caption: 'Flips by limit', sort: 'flips', rows: changes,
                 columns: [limit, how, number]});
    if (flips.more_limits > 0) {
      main.append(element('p', {class: 'quiet'},
                          `and ${count(flips.more_limits)} more`));
    }
    table(main, {caption: 'Flips by path', sort: 'flips', rows: flips.paths,
                 filter: 'Filter paths',
                 columns: [{title: 'path', key: 'path', head: true}, number]});
    if (flips.list.length < flips.total) {
      main.append(element('p', {class: 'quiet'},
                          `The first ${count(flips.list.length)} of them:`));
    }
    const list = flips.list.map((one) => ({
      ...one, change: `${one.before} \u2192 ${one.after}`,
      place: `${one.file}:${one.line}`,
      when: time(Date.parse(one.time) / 1000, offset, 1)}));
    table(main, {
      caption: 'The first flips', sort: 'when', filter: 'Filter flips',
      rows: list,
      columns: [{title: 'time', key: 'when'}, how, limit,
                {title: 'path', key: 'path'}, {title: 'line', key: 'place'}],
    });
  }

  return function(main, trees, flips) {
    const [before, after] = trees;
    main.append(element('p', {},
                        `before: ${before.name}, after: ${after.name}`));
    showTotals(main, before, after);
    showFlips(main, flips, before.timeline.offset);
    showTimes(main, before, after);
    showLimits(main, before, after);
  };
})();
