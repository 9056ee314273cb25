// An API with limits: node examples/express/app.mjs, then
//
//   curl -i localhost:3000/prices
//   curl -i -X POST -H 'X-Api-Key: alex' localhost:3000/trade
import express from 'express';
import { rateLimit } from 'limitree/express';

const limited = rateLimit({
  limits: new URL('limits.yaml', import.meta.url),
  store: process.env.STORE ?? 'memory://', // or shm://shop for all workers
  path(request) {
    const paths = [['ip', request.ip]];
    const key = request.get('X-Api-Key');
    const action = request.path === '/trade' ? ['trade'] : [];
    if (key) paths.push(['user', key, ...action]);
    return paths;
  },
  skip: (request) => request.path === '/health',
});

const app = express();
app.use(limited);
app.get('/health', (_request, response) => response.send('ok'));
app.get('/prices', (_request, response) => response.json({ gold: 41 }));
app.post('/trade', (request, response) =>
  response.json({ left: request.rateLimit.remaining }));

const server = app.listen(process.env.PORT ?? 3000, () =>
  console.log(`http://localhost:${server.address().port}`));
