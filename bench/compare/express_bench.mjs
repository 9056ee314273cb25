// One request through a middleware of Express, with headers on: limitree beside
// express-rate-limit, in one process and one run.
//
// "alone" measures the middlewares themselves: requests and responses only
// store the values that they are given.  "Express" has real requests and
// responses, made beforehand, whose address Express finds; most of that time
// goes into memory that was not touched before.
//
// express-rate-limit awaits before it calls next(), so many requests begin
// before the last of them ends; limitree calls next() at once.  Each time is
// the minimum of many short turns, in which the middlewares alternate: on a
// shared machine, anything above the minimum is the work of others.
//
// Usage: express_bench.mjs [number of callers ...]            (1 and 10000)

import { ServerResponse } from 'node:http';

import express from 'express';
import { rateLimit as peer } from 'express-rate-limit';
import { rateLimit } from 'limitree/express';

const TURNS = 100;
const REQUESTS = 1000;

const HEADERS = {
  'draft-8': { standardHeaders: 'draft-8', legacyHeaders: false },
  'draft-7': { standardHeaders: 'draft-7', legacyHeaders: false },
  'X-RateLimit': { standardHeaders: false, legacyHeaders: true },
  none: { standardHeaders: false, legacyHeaders: false },
};

const app = express();

function addressOf(caller) {
  return `10.${caller >> 16}.${(caller >> 8) & 255}.${caller & 255}`;
}

const settings = { get: () => false };

/** Requests and responses that only store the values that they are given. */
const ALONE = {
  request: class {
    constructor(caller) {
      this.app = settings;
      this.headers = {};
      this.ip = addressOf(caller);
    }
  },
  response: class {
    kept = {};
    headersSent = false;

    setHeader(name, value) { this.kept[name] = value; }
    getHeader(name) { return this.kept[name]; }
    append(name, value) { this.setHeader(name, value); }
  },
};

/** Those of Express, in their state before the first middleware. */
const EXPRESS = {
  request: function(caller) {
    const request = Object.create(app.request);
    request.app = app;
    request.headers = { host: 'localhost', accept: '*/*' };
    request.socket = { remoteAddress: addressOf(caller) };
    return request;
  },
  response: function() {
    const response = new ServerResponse({
      method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1, headers: {} });
    Object.setPrototypeOf(response, app.response);
    response.app = app;
    response.setHeader('X-Powered-By', 'Express');
    return response;
  },
};

/** Nanoseconds for each of these requests. */
function timeOf(middleware, kind, requests) {
  const responses = requests.map(() => new kind.response());
  return new Promise((resolve, reject) => {
    let left = requests.length;
    const begin = process.hrtime.bigint();
    const next = (error) => {
      if (error) return reject(error);
      if (--left > 0) return undefined;
      const took = process.hrtime.bigint() - begin;
      return resolve(Number(took) / requests.length);
    };
    for (let i = 0; i < requests.length; ++i) {
      middleware(requests[i], responses[i], next);
    }
  });
}

async function compare(kind, callers, headers) {
  const options = { limit: 10 ** 6, windowMs: 3_600_000, ...headers };
  const middlewares = [rateLimit(options), peer(options)];
  const least = middlewares.map(() => Infinity);
  let caller = 0;
  for (let turn = 0; turn < TURNS; ++turn) {
    const requests = [];
    for (let i = 0; i < REQUESTS; ++i) {
      requests.push(new kind.request(caller++ % callers));
    }
    for (let i = 0; i < middlewares.length; ++i) {
      const time = await timeOf(middlewares[i], kind, requests);
      least[i] = Math.min(least[i], time);
    }
  }
  await middlewares[0].close();
  return least;
}

const counts = process.argv.slice(2).map(Number);
for (const callers of counts.length > 0 ? counts : [1, 10_000]) {
  for (const [title, kind] of [['alone', ALONE], ['Express', EXPRESS]]) {
    console.log(`${callers} callers, ${title}: ns for each request`);
    for (const [name, headers] of Object.entries(HEADERS)) {
      const [ours, theirs] = await compare(kind, callers, headers);
      console.log(
        `  ${name.padEnd(12)} limitree ${ours.toFixed(0).padStart(6)}` +
        `   express-rate-limit ${theirs.toFixed(0).padStart(6)}` +
        `   ${(theirs / ours).toFixed(1)}x`);
    }
  }
}
process.exit(0);  // timers of express-rate-limit would keep the process alive
