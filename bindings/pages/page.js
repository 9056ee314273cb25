// What the pages of limitree share: elements, numbers, times and the theme.
//
// chart.js and table.js add to the object `pages`.  Every text comes into a
// page by textContent and setAttribute, never as markup, because names of
// callers may be anything.  There are no inline handlers and no inline styles,
// so that a page can forbid both.
'use strict';

const pages = (() => {
  const SVG = 'http://www.w3.org/2000/svg';

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }

  // element('td', {class: 'number'}, '7'): children are nodes or texts.
  function element(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
  }

  function svg(name, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, name), attributes, children);
  }

  const whole = new Intl.NumberFormat('en');
  const few = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});

  // 1,234,567; fractions such as rates have three digits.
  function count(value) {
    if (value === null) return '-';
    return (Number.isInteger(value) ? whole : few).format(value);
  }

  function percent(part, of) {
    if (of === 0) return '-';
    const value = 100 * part / of;
    return (part !== 0 && value < 0.01 ? '<0.01' : value.toFixed(2)) + '%';
  }

  function two(value) {
    return String(value).padStart(2, '0');
  }

  // A point in time, in seconds since 1970, on clocks that are `offset`
  // seconds east of Greenwich.  A step of a day needs no clock, one of a minute
  // no seconds.
  function time(seconds, offset, step) {
    const at = new Date((seconds + offset) * 1000);
    const date = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-` +
        two(at.getUTCDate());
    return step >= 86400 ? date : `${date} ${clock(seconds, offset, step)}`;
  }

  function clock(seconds, offset, step) {
    const at = new Date((seconds + offset) * 1000);
    const text = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    return step >= 60 ? text : `${text}:${two(at.getUTCSeconds())}`;
  }

  // A button that changes between light and dark.  It begins with the system's
  // theme, and follows that until somebody presses it.
  function themeButton() {
    const root = document.documentElement;
    const system = matchMedia('(prefers-color-scheme: dark)');
    const button = element('button', {type: 'button', class: 'theme'});
    const isDark = () =>
        root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
    const show = () => {
      button.textContent = isDark() ? 'Light' : 'Dark';
      button.setAttribute(
          'aria-label', isDark() ? 'Light colours' : 'Dark colours');
    };
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      show();
    });
    system.addEventListener('change', show);
    show();
    return button;
  }

  // figures([['limited', 12, '1.20%'], ...]): the numbers of the whole.
  function figures(all) {
    return element('dl', {class: 'figures'}, ...all.map(
        ([name, value, remark = '']) => element(
            'div', {}, element('dt', {}, name),
            element('dd', {},
                    typeof value === 'number' ? count(value) : value,
                    element('small', {}, remark)))));
  }

  return {element, svg, count, percent, time, clock, themeButton, figures};
})();
