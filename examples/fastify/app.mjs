// An API with limits: node examples/fastify/app.mjs, then
//
//   curl -i localhost:3000/prices
//   curl -i -X POST localhost:3000/login
import fastify from 'fastify';
import limitree from 'limitree/fastify';

const app = fastify();

await app.register(limitree, {
  limit: 20,
  windowMs: 10_000,
  store: process.env.STORE ?? 'memory://', // or shm://shop for all workers
});

app.get('/health', { config: { rateLimit: false } }, async () => 'ok');

app.get('/prices', async () => ({ gold: 41 }));

app.get('/report', { config: { rateLimit: { cost: 5 } } },
        async (request) => ({ left: request.rateLimit.remaining }));

// Only failed logins count.
const login = { limit: 3, windowMs: 60_000, skipSuccessfulRequests: true };
app.post('/login', { config: { rateLimit: login } }, async (request, reply) => {
  if (request.headers.authorization === 'Basic YWxleDpzZWNyZXQ=') return 'in';
  return reply.code(401).send('who?');
});

console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }));
