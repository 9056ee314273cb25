// Charts of numbers over time, drawn as SVG.
'use strict';

(() => {
  const {element, svg, count, time, clock} = pages;
  const HEIGHT = 220;
  const TOP = 8;
  const BOTTOM = 24;
  const RIGHT = 8;

  // 0, 50, 100, ...: three to five numbers, the last one at least `most`.
  function ticks(most) {
    const rough = Math.max(most, 1) / 4;
    const size = 10 ** Math.floor(Math.log10(rough));
    const steps = [1, 2, 5, 10].map((step) => step * size);
    let step = steps.find((one) => one >= rough);
    if (most >= 1) step = Math.max(step, 1);
    const all = [0];
    while (all.at(-1) < most) {
      all.push(Number((step * all.length).toPrecision(9)));
    }
    if (all.length === 1) all.push(step);
    return all;
  }

  // The steps of a path through the points, on `x(i)` and `y(value)`.
  function through(values, x, y) {
    return values.map((value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ` +
        y(value).toFixed(1)).join('');
  }

  // Draws into `parent` and returns {update}.  `data` is what update() takes:
  //   begin, step, offset: the time of the first value, and between two, in
  //     seconds; how far the clocks are east of Greenwich
  //   series: [{name, tone, area, values}, ...], all of one length.  `tone` is
  //     1 to 4: a colour and its dashes
  //   total: what the legend says of a series while no time is shown, as a
  //     function of it; by default the sum of its values
  // `label` names the chart for those who do not see it.  The pointer, and the
  // keys of the arrows, Home and End, show the numbers of one time.
  function chart(parent, label, data) {
    const picture = svg('svg', {
      'role': 'slider', 'tabindex': 0, 'aria-label': label,
      'aria-valuemin': 0, 'height': HEIGHT,
    });
    const legend = element('ul', {class: 'legend'});
    const box = element('div', {class: 'chart'}, picture, legend);
    parent.append(box);
    let at = null;  // the index of the time that is shown
    let left = 0;
    let width = 0;

    const length = () => data.series[0].values.length;
    const x = (i) => left + (length() < 2 ? 0.5 : i / (length() - 1)) *
        (width - left - RIGHT);

    function describe(i) {
      const when = time(data.begin + i * data.step, data.offset, data.step);
      const numbers = data.series.map(
          (one) => `${one.name} ${count(one.values[i])}`);
      return `${when}: ${numbers.join(', ')}`;
    }

    function showLegend() {
      const when = at === null ? 'all of the time' :
          time(data.begin + at * data.step, data.offset, data.step);
      const sum = (values) => values.reduce((a, b) => a + b, 0);
      const items = data.series.map((one) => element(
          'li', {},
          svg('svg', {'viewBox': '0 0 30 10', 'aria-hidden': 'true'},
              svg('path', {class: `line tone-${one.tone}`, d: 'M0 5H30'})),
          `${one.name} `,
          element('b', {}, at !== null ? count(one.values[at]) :
              data.total ? data.total(one) : count(sum(one.values)))));
      legend.replaceChildren(element('li', {}, when), ...items);
    }

    // Moves the line of the time that is shown.
    function showCursor() {
      picture.querySelector('.cursor')?.remove();
      const shown = at ?? 0;
      picture.setAttribute('aria-valuemax', Math.max(length() - 1, 0));
      picture.setAttribute('aria-valuenow', shown);
      picture.setAttribute('aria-valuetext',
                           length() ? describe(shown) : 'no data');
      if (at !== null) {
        const where = x(at).toFixed(1);
        picture.append(svg('path', {
          class: 'cursor', d: `M${where} ${TOP}V${HEIGHT - BOTTOM}`,
        }));
      }
      showLegend();
    }

    function drawTimes() {
      const wide = data.step >= 86400 ? 80 : 64;
      const most = Math.max(Math.floor((width - left) / wide), 1);
      const every = Math.max(Math.ceil(length() / most), 1);
      for (let i = 0; i < length(); i += every) {
        const when = data.begin + i * data.step;
        const text = data.step >= 86400 ? time(when, data.offset, data.step) :
            clock(when, data.offset, data.step);
        if (x(i) + wide / 2 > width && i > 0) break;
        picture.append(svg('text', {
          'x': x(i).toFixed(1), 'y': HEIGHT - 6,
          'text-anchor': i === 0 && length() > 1 ? 'start' : 'middle',
        }, text));
      }
    }

    function draw() {
      width = Math.max(Math.round(box.clientWidth), 200);
      picture.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
      picture.replaceChildren();
      const most = data.series.reduce((found, one) => one.values.reduce(
          (a, b) => Math.max(a, b), found), 0);
      const rows = ticks(most);
      left = 10 + 7.5 * Math.max(...rows.map((row) => count(row).length));
      const y = (value) => HEIGHT - BOTTOM -
          value / rows.at(-1) * (HEIGHT - TOP - BOTTOM);
      for (const row of rows) {
        picture.append(
            svg('path', {class: 'grid', d: `M${left} ${y(row)}H${width}`}),
            svg('text', {'x': left - 6, 'y': y(row) + 4, 'text-anchor': 'end'},
                count(row)));
      }
      drawTimes();
      for (const one of data.series) {
        if (one.values.length === 0) continue;
        const steps = through(one.values, x, y);
        if (one.area) {
          picture.append(svg('path', {
            class: `area tone-${one.tone}`,
            d: `${steps}V${y(0)}H${x(0).toFixed(1)}Z`,
          }));
        }
        // A single value would be a line without length.
        picture.append(svg('path', {
          class: `line tone-${one.tone}`,
          d: one.values.length > 1 ? steps : `${steps}m-9 0h18`,
        }));
      }
      showCursor();
    }

    function show(index) {
      at = index === null || length() === 0 ? null :
          Math.min(Math.max(index, 0), length() - 1);
      showCursor();
    }

    function showUnder(event) {
      const place = picture.getBoundingClientRect();
      const part = (event.clientX - place.left - left) /
          (width - left - RIGHT);
      show(Math.round(part * (length() - 1)));
    }
    picture.addEventListener('pointermove', showUnder);
    picture.addEventListener('pointerdown', showUnder);
    picture.addEventListener('pointerleave', () => show(null));
    picture.addEventListener('focus', () => show(at ?? 0));
    picture.addEventListener('blur', () => show(null));
    picture.addEventListener('keydown', (event) => {
      const page = Math.max(Math.round(length() / 10), 1);
      const moves = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1,
                     PageDown: -page, PageUp: page, Home: -Infinity,
                     End: Infinity};
      if (!(event.key in moves)) return;
      event.preventDefault();
      show((at ?? 0) + moves[event.key]);
    });
    new ResizeObserver(() => {
      if (Math.round(box.clientWidth) !== width) draw();
    }).observe(box);
    draw();

    return {
      update(changed) {
        data = changed;
        at = at === null || length() === 0 ? null : Math.min(at, length() - 1);
        draw();
      },
    };
  }

  // A small line without axes.  `label` says what it shows.
  function sparkline(values, label, tone) {
    const most = values.reduce((a, b) => Math.max(a, b), 1);
    const x = (i) => values.length < 2 ? 55 : i / (values.length - 1) * 108 + 1;
    return svg(
        'svg', {'class': 'sparkline', 'role': 'img', 'aria-label': label,
                'viewBox': '0 0 110 24'},
        svg('path', {
          class: `line tone-${tone}`,
          d: through(values, x, (value) => 22 - value / most * 20),
        }));
  }

  pages.chart = chart;
  pages.sparkline = sparkline;
})();
