// TypeScript checks programs with all options, in a module and in CommonJS.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

// Inside the package, so that the names of packages can be imported.
mkdirSync('build', { recursive: true });
const folder = mkdtempSync(join('build', 'web-types-'));
after(() => rmSync(folder, { recursive: true }));

const PROGRAM = `
const limiter = new Limiter({ limits: 'schema: {ip: {limits: 1/second}}' });

const app = express();
app.use(limitExpress({
  limiter, cost: async (request) => Number(request.get('X-Cost')),
  path: (request) => [['ip', request.ip ?? ''],
                      { path: ['user', request.get('X-User') ?? ''], cost: 2 }],
  handler: (request, response, next, options) => {
    response.status(options.statusCode).json(options.message);
    next();
  },
}));
const strict = limitExpress({
  limit: (request) => request.secure ? 10 : 1, windowMs: 1000, max: undefined,
  standardHeaders: 'draft-7', store: 'redis://localhost', onStoreError: 'allow',
  clientIp: clientIp({ trustedHops: 1 }), validate: { trustProxy: false } });
app.get('/', strict, (request, response) => {
  const { rateLimit } = request as LimitedRequest;
  const left: number = rateLimit.remaining;
  response.json([left, rateLimit.resetTime.getTime(),
                 rateLimit.decision.levels?.length]);
});
app.get('/left', (request, response) => {
  const left: number | undefined = request.rateLimit?.remaining;
  // @ts-expect-error: there is none where nothing was decided
  const info: RateLimitInfo = request.rateLimit;
  response.json([left, info]);
});
const closed: Promise<void> = strict.close();
app.use(limitExpress({
  limiter, path: () => ['key'], reserve: '30s', cost: { tokens: 4000 },
  settle: (_, response) => response.statusCode < 400 ? { tokens: 5 }
    : undefined }));
app.get('/held', async (request, response) => {
  const settled: number | undefined =
    await request.rateLimit?.reservation?.settle({ tokens: 812 });
  // @ts-expect-error: there is none without the option reserve
  const receipt: string = request.rateLimit?.reservation.receipt;
  response.json([settled, receipt]);
});
// @ts-expect-error: a time, true or false
limitExpress({ limit: 1, reserve: null });
// @ts-expect-error: costs are numbers
limitExpress({ limit: 1, reserve: true, settle: () => ({ tokens: '5' }) });
// @ts-expect-error: no such option
limitExpress({ limit: 1, windowms: 5 });
// @ts-expect-error: no such draft
limitExpress({ limit: 1, standardHeaders: 'draft-9' });
// @ts-expect-error: a store also takes back and forgets
limitExpress({ limit: 1, store: { increment() {} } });
const own = limitExpress({
  store: new MemoryStore(), passOnStoreError: true, ban: 2, max: 5,
  windowMs: async (request, response) => request.secure ? '1 minute'
    : response.statusCode, algorithm: 'fixed_window',
  allowList: ['10.0.0.1'], headerNames: { 'Retry-After': false },
  onExceeded: (request, response, info) =>
    [request.ip, response.statusCode, info.isBanned, info.key] });
const hits: Promise<number | undefined> =
  own.getKey('10.0.0.1').then((info) => info?.totalHits);
limitTheirs({ exponentialBackoff: true, allowList: (request, response) =>
  request.ip === response.app.path() });
// @ts-expect-error: a number of denials
limitTheirs({ ban: '5' });
// @ts-expect-error: it must be told what to limit by
limitExpress({ limit: 1, keyGenerator: () => undefined });
// @ts-expect-error: a segment must be there
limitExpress({ limiter, path: (request) => ['ip', request.ip] });

const server = fastify();
async function serve() {
  await server.register(limitFastify, { max: 5, timeWindow: 1000,
                                        hook: 'preHandler' });
  await server.register(limitFastify, {
    max: async (request, key) => request.ip === key ? 5 : 6,
    logger: console });
  await server.register(theirFastify, {
    max: 5, timeWindow: (request, key) => request.ip === key ? '1m' : 5,
    groupId: 'all', continueExceeding: true, ban: 3, cache: 5000,
    nameSpace: 'mine:', skipOnError: true, enableDraftSpec: true,
    addHeaders: { 'retry-after': false }, addHeadersOnExceeding: {},
    allowList: async (request, key) => request.ip === key,
    onExceeding: (request, key, info) => [request.ip, key, info.remaining],
    errorResponseBuilder: (request, { after, ban, max, statusCode, ttl }) =>
      ({ statusCode, message: [request.ip, after, ban, max, ttl].join() }) });
  const check = server.createRateLimit({ max: 5, timeWindow: '1 minute' });
  server.get('/checked', async (request) => {
    const found = await check(request, { increment: false });
    // @ts-expect-error: who is allowed has no numbers
    if (found.isAllowed) return found.remaining;
    return [found.remaining, found.ttl, found.isBanned];
  });
  // @ts-expect-error: it gets the key, no reply
  await server.register(limitFastify, { max: (_, reply) => reply.statusCode });
  // @ts-expect-error: no such hook
  await server.register(limitFastify, { limit: 5, hook: 'onSend' });
  server.get('/', { config: { rateLimit: { limit: 1, cost: 2 } } },
             async (request) => request.rateLimit?.remaining ?? 0);
  server.get('/free', { config: { rateLimit: false } }, async () => 'free');
  server.get('/tokens', { config: { rateLimit: { cost: { tokens: 5 } } } },
             async () => 'free');
  server.get('/held', { config: { rateLimit: {
    reserve: 30_000, settle: async (request, reply) => reply.statusCode } } },
             async (request) => request.rateLimit?.reservation?.held ?? 0);
  server.get('/own', { onRequest: server.rateLimit({ limit: 1 }) },
             async () => 'own');
  // @ts-expect-error: limits are numbers
  server.get('/bad', { config: { rateLimit: { limit: '1' } } },
             async () => 'bad');
}

const koa = new Koa();
koa.use(limitKoa({
  limiter, path: () => ['key'], reserve: true,
  settle: (context) => ({ tokens: context.state['tokens'] as number }) }));
koa.use(limitKoa({
  limit: 1, keyGenerator: (context) => context.ip,
  handler: (context, info) => { context.body = info.used; } }));

const hono = new Hono();
hono.use(limitHono({ limit: 1, skip: (context) => context.req.path === '/',
                     handler: (context) => context.text('no', 429) }));
hono.use(limitHono({ limiter, path: () => ['ip'],
                     cost: async () => ({ request: 1, tokens: 2 }) }));
// @ts-expect-error: costs are numbers
hono.use(limitHono({ limit: 1, cost: { tokens: '2' } }));
hono.use(limitHono({ limiter, path: () => ['key'], reserve: '1m',
                     settle: (context) => context.res.ok ? undefined : 0 }));
hono.get('/left', (context) => {
  const left: number = context.get('rateLimit').remaining;
  // @ts-expect-error: no such variable
  const other: number = context.get('rateLimits').remaining;
  return context.text(String(left + other + context.var.rateLimit.used));
});

const flexible = new RateLimiterRedis({
  points: 5, duration: 1, blockDuration: 60, store: 'redis://localhost',
  insuranceLimiter: new RateLimiterMemory({ points: 1, duration: 1 }) });
flexible.consume('user', 2, { customDuration: 5 }).then(
  ({ remainingPoints }) => remainingPoints.toFixed(),
  (error: unknown) => error instanceof RateLimiterRes && error.msBeforeNext);
const turn: Promise<number> =
  new RateLimiterQueue(flexible, { maxQueueSize: 5 }).removeTokens(1, 'key');
// @ts-expect-error: points are numbers
new RateLimiterMemory({ points: '5', duration: 1 });

// The names of the other packages, as their users import them.
class Counts implements Store {
  windowMs = 0;
  init(options: Options) { this.windowMs = options.windowMs; }
  async increment(): Promise<ClientRateLimitInfo> {
    return { totalHits: 1, resetTime: new Date(this.windowMs) };
  }
  async decrement() {}
  async resetKey() {}
}
const ofValue: ValueDeterminingMiddleware<number> =
  (request) => request.ip ? 1 : 2;
const theirs: RateLimitRequestHandler =
  limitTheirs({ limit: ofValue, store: new Counts() });
const kept: TheirStore = new LimitreeStore();
const registered: RateLimitPluginOptions = { max: 5, timeWindow: '1 minute' };
const typed = rateLimiter<{ Variables: { user: string } }>({
  keyGenerator: (context) => context.get('user'),
  handler: (context) => context.text('no', 429) });
const inRedis: RateLimiterStoreAbstract = new RateLimiterRedis({
  points: 1, duration: 1, store: 'redis://a' } satisfies IRateLimiterOptions);

const outbound = limitFetch({ limiter, path: (request) => ['ip', request.url],
                              maxWait: '5s' });
const answer: Promise<Response> = outbound('http://here', { method: 'POST' });
// @ts-expect-error: a number
limitFetch({ limit: '5' });
const allowed: Promise<boolean> =
  limiter.wait(['ip'], { maxWait: 5, maxQueue: 1 }).then((one) => one.allowed);

const limited = limitHttp({ limit: 1, message: { error: 'enough' } });
createServer(async (request, response) => {
  const isOver: boolean = await limited(request, response);
  if (!isOver) response.end(String(limited.infoOf(request)?.limit));
});
export { allowed, answer, closed, hits, inRedis, kept, registered, serve,
         theirs, turn, typed };
`;

const NAMES = [
  ['{ createServer }', 'node:http'],
  ['{ Hono }', 'hono'],
  ['{ Limiter, clientIp }', 'limitree'],
  ['{ rateLimit as limitExpress, type LimitedRequest, ' +
   'type RateLimitInfo }', 'limitree/express'],
  ['{ MemoryStore, type Store as TheirStore }', 'express-rate-limit'],
  ['{ LimitreeStore, rateLimit as limitTheirs, type ClientRateLimitInfo, ' +
   'type Options, type RateLimitRequestHandler, type Store, ' +
   'type ValueDeterminingMiddleware }', 'limitree/express-rate-limit'],
  ['{ rateLimiter }', 'limitree/hono-rate-limiter'],
  ['{ limitree as limitFastify }', 'limitree/fastify'],
  ['{ fastifyRateLimit as theirFastify, type RateLimitPluginOptions }',
   'limitree/fastify-rate-limit'],
  ['{ rateLimit as limitHono }', 'limitree/hono'],
  ['{ rateLimit as limitHttp }', 'limitree/http'],
  ['{ rateLimit as limitKoa }', 'limitree/koa'],
  ['{ limitFetch }', 'limitree/fetch'],
  ['{ RateLimiterMemory, RateLimiterQueue, RateLimiterRedis, ' +
   'RateLimiterRes, type IRateLimiterOptions, ' +
   'type RateLimiterStoreAbstract }', 'limitree/rate-limiter-flexible'],
].map(([what, from]) => `import ${what} from '${from}';\n`).join('');

const DEFAULTS = [['express', 'express'], ['fastify', 'fastify'],
                  ['Koa', 'koa']];
const KINDS = {
  mts: NAMES + DEFAULTS.map(([name, from]) =>
    `import ${name} from '${from}';\n`).join('') +
    "import plugin from 'limitree/fastify';\n" +
    'fastify().register(plugin, { limit: 1 });\n',
  cts: NAMES + DEFAULTS.map(([name, from]) =>
    `import ${name} = require('${from}');\n`).join(''),
};

describe('the types', () => {
  it('say what can be said, as a module and as CommonJS', () => {
    for (const [kind, imports] of Object.entries(KINDS)) {
      writeFileSync(join(folder, `a.${kind}`), imports + PROGRAM);
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
      files: Object.keys(KINDS).map((kind) => `a.${kind}`), compilerOptions: {
        strict: true, module: 'node16', target: 'es2022', noEmit: true,
        types: ['node'], exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true, skipLibCheck: true } }));
    const done = spawnSync(
      join('node_modules', '.bin', 'tsc'), ['-p', folder],
      { encoding: 'utf8' });
    assert.equal(done.stdout, '');
    assert.equal(done.status, 0);
  });
});
