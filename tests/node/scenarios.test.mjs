// Plays the scenarios that all languages share through every framework.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { STARTS, ask } from './scenario_apps.mjs';

const { scenarios } = JSON.parse(readFileSync(
  new URL('../web/scenarios.json', import.meta.url), 'utf8'));

/** What cannot be, and why: docs/features.md says the same. */
const EXCEPTIONS = {
  'headers are those after the charge': 'the headers are written before the ' +
    'handler runs, so they do not know what is given back',
};

/** Those that write the headers after the handler has run. */
const WITHOUT = ['fetch'];

const HEADERS = {
  caller: 'X-Caller', tier: 'X-Tier', cost: 'X-Cost', account: 'X-Account',
  staff: 'X-Staff', fails: 'X-Status',
};

function headersOf(step) {
  return Object.fromEntries(Object.entries(HEADERS)
    .filter(([word]) => word in step)
    .map(([word, name]) => [name, String(step[word])]));
}

/** The numbers r= of the header RateLimit, sorted. */
function leftOf(answer) {
  const found = (answer.headers.ratelimit ?? '').matchAll(/;r=(\d+)/g);
  return [...found].map(([, left]) => Number(left)).sort((a, b) => a - b);
}

function check(step, answer) {
  if ('left' in step) assert.deepEqual(leftOf(answer), step.left);
  if ('retry_after' in step) {
    assert.equal(answer.headers['retry-after'], String(step.retry_after));
  }
  if ('body' in step) assert.ok(answer.text.includes(step.body), answer.text);
  if ('type' in step) {
    assert.equal(answer.headers['content-type'].split(';')[0], step.type);
  }
  if ('tells' in step) assert.equal(answer.text, step.tells);
}

async function play(app, step) {
  if ('request' in step) {
    const statuses = [];
    let answer;
    for (let i = 0; i < step.answers.length; ++i) {
      answer = await ask(app.port, step.request, headersOf(step));
      statuses.push(answer.status);
    }
    assert.deepEqual(statuses, step.answers, JSON.stringify(step));
    check(step, answer);
  } else if ('advance' in step) {
    app.translation.advance(step.advance);
  } else if ('breaches' in step) {
    assert.equal(app.translation.breaches, step.breaches);
  } else if ('reset' in step) {
    for (const limit of app.limits.get(step.reset)) {
      await limit.resetKey(step.caller);
    }
  } else {
    const [limit] = app.limits.get(step.get);
    const info = await limit.getKey(step.caller);
    assert.equal(info?.remaining ?? 3, step.left);
  }
}

for (const [name, start] of Object.entries(STARTS)) {
  describe(name, () => {
    for (const scenario of scenarios) {
      const skip = WITHOUT.includes(name) ? undefined
        : EXCEPTIONS[scenario.name];
      it(scenario.name, { skip }, async () => {
        const app = await start(scenario);
        try {
          for (const step of scenario.steps) await play(app, step);
        } finally {
          await app.stop();
        }
      });
    }
  });
}
