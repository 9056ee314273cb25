// Tables that people sort by a click on a column's title, and filter by a text.
'use strict';

(() => {
  const {element, count} = pages;
  const ROWS = 20;  // shown at first, and more by a button

  // Draws into `parent` and returns {update}, which takes other rows.
  //   caption: the name of the table for those who do not see it
  //   columns: [{title, key, number, cell, head}, ...].  row[key] is what the
  //     column is sorted by and, as text, filtered by; `cell(row)` returns a
  //     node or text to show instead.  Without a key, a column is not sorted.
  //     `number` aligns it right, and sorts large ones first; null is a number
  //     that is not known, and the least.  `head` marks the column that names
  //     the row.
  //   sort: the key of the column that it is sorted by at first
  //   filter: the label of the field; no field without it
  function table(parent, {caption, columns, rows, sort, filter, empty}) {
    let key = sort;
    let falling = columns.find((one) => one.key === key)?.number ?? false;
    let wanted = '';
    let most = ROWS;
    const said = element('span', {class: 'quiet', role: 'status'});
    const body = element('tbody');
    const more = element('button', {type: 'button'}, 'Show more');
    const tools = element('div', {class: 'tools'});

    const titles = columns.map((column) => {
      const kind = column.number ? {scope: 'col', class: 'number'} :
          {scope: 'col'};
      if (column.key === undefined) {
        return element('th', kind, element('span', {}, column.title));
      }
      const button = element('button', {type: 'button'});
      button.addEventListener('click', () => {
        falling = key === column.key ? !falling : Boolean(column.number);
        key = column.key;
        show();
      });
      return element('th', kind, button);
    });

    function showTitles() {
      titles.forEach((title, i) => {
        const column = columns[i];
        if (column.key === undefined) return;
        const sorted = column.key === key;
        const sign = !sorted ? '' : falling ? ' \u2193' : ' \u2191';
        title.firstChild.replaceChildren(
            column.title, element('span', {'aria-hidden': 'true'}, sign));
        if (sorted) {
          title.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
        } else {
          title.removeAttribute('aria-sort');
        }
      });
    }

    function matches(row) {
      return wanted === '' || columns.some((column) =>
          column.key !== undefined &&
          String(row[column.key] ?? '-').toLowerCase().includes(wanted));
    }

    function compare(one, other) {
      const [a, b] = [one[key] ?? -Infinity, other[key] ?? -Infinity];
      if (a === b) return 0;
      const order = typeof a === 'number' && typeof b === 'number' ? a - b :
          String(a).localeCompare(String(b), 'en', {numeric: true});
      return falling ? -order : order;
    }

    function line(row) {
      return element('tr', {}, ...columns.map((column) => {
        const value = column.cell ? column.cell(row) :
            column.number ? count(row[column.key]) : row[column.key];
        return element(
            column.head ? 'th' : 'td',
            column.head ? {scope: 'row'} :
                {class: column.number ? 'number' : 'text'},
            value);
      }));
    }

    function show() {
      const found = rows.filter(matches);
      if (key !== undefined) found.sort(compare);
      const shown = found.slice(0, most);
      body.replaceChildren(...shown.map(line));
      said.textContent = rows.length === 0 ? empty ?? 'none' :
          `${count(shown.length)} of ${count(found.length)} shown` +
          (found.length < rows.length ? `, ${count(rows.length)} in all` : '');
      more.hidden = shown.length === found.length;
      showTitles();
    }

    if (filter) {
      const field = element('input', {type: 'search', autocomplete: 'off'});
      field.addEventListener('input', () => {
        wanted = field.value.trim().toLowerCase();
        most = ROWS;
        show();
      });
      tools.append(element('label', {}, filter, field));
    }
    tools.append(said);
    more.addEventListener('click', () => {
      most += 25 * ROWS;
      show();
    });
    // What scrolls must be within reach of the keyboard.
    const wide = element(
        'div', {class: 'wide', tabindex: 0, role: 'region',
                'aria-label': caption},
        element('table', {}, element('caption', {}, caption),
                element('thead', {}, element('tr', {}, ...titles)), body));
    parent.append(tools, wide, more);
    show();

    return {
      update(changed) {
        rows = changed;
        show();
      },
    };
  }

  pages.table = table;
})();
