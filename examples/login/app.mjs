// A login page that nobody can guess through: node examples/login/app.mjs, then
// http://localhost:3000, alex, secret
import { scryptSync, timingSafeEqual } from 'node:crypto';
import express from 'express';
import { Limiter } from 'limitree';
import { Logins } from 'limitree/logins';

const { SECRET = 'only for this example', STORE = 'memory://' } = process.env;
const SALT = 'of this example';
const hashOf = (password) => scryptSync(password, SALT, 32);
const USERS = new Map([['alex', hashOf('secret')]]);
const NOBODY = Buffer.alloc(32);
const page = (text) => `<!doctype html><title>Log in</title><p>${text}</p>
<form method="post"><input name="account" autocomplete="username">
<input name="password" type="password" autocomplete="current-password">
<button>Log in</button></form>`;

const limiter = new Limiter({
  limits: { schema: { site: { limits: '1000/second' } } }, store: STORE });
const logins = await Logins.of(limiter, { secret: SECRET });

// As long for an account that does not exist.
const isRight = (account, password) =>
  timingSafeEqual(USERS.get(account) ?? NOBODY, hashOf(password));

const deviceOf = (request) =>
  /(?:^|;\s*)device=([\w.-]+)/.exec(request.get('Cookie') ?? '')?.[1];

const app = express();
app.use(express.urlencoded({ extended: false }));
app.get('/', (_request, response) => response.send(page('Who are you?')));
app.post('/', async (request, response, next) => {
  try {
    const { account = '', password = '' } = request.body ?? {};
    const name = String(account).trim().toLowerCase();
    const attempt = await logins.attempt(
      name, request.ip, { device: deviceOf(request) });
    if (attempt.decision.limited) {
      const seconds = Math.ceil(attempt.decision.retryAfterMs / 1000);
      return response.status(429).set('Retry-After', String(seconds))
        .send(page('Too many attempts, try later.'));
    }
    if (!isRight(name, String(password))) {
      return response.status(401).send(page('Wrong name or password.'));
    }
    response.cookie('device', await attempt.succeed(), {
      maxAge: 365 * 86_400_000, httpOnly: true, sameSite: 'lax',
      secure: request.secure });
    return response.send('Welcome!'); // here a session begins
  } catch (error) {
    return next(error);
  }
});

const server = app.listen(process.env.PORT ?? 3000, () =>
  console.log(`http://localhost:${server.address().port}`));
