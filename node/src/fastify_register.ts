// Puts the hooks of the limits into a Fastify instance and its routes.

import type {
  FastifyInstance, FastifyPluginAsync, RouteOptions, onRequestHookHandler,
} from 'fastify';

import type {
  FastifyOptions, FastifyRouteOptions, Hook } from './fastify_options.js';
import { Plugin, type Placed } from './fastify_plugin.js';
import { refuse } from './web/refuse.js';
import { warnOnce } from './web/warnings.js';

/** The config of a route; the plugin marks the routes that it has seen. */
interface Marks {
  readonly [mark: symbol]: true | undefined;
  readonly rateLimit?: unknown;
}

type AnyHook = (...args: unknown[]) => unknown;

/**
 * Adapts the handler to a hook that also gets the body: Fastify checks the
 * number of parameters.
 */
function placed(
  hook: Hook,
  handler: onRequestHookHandler,
): onRequestHookHandler {
  if (hook !== 'preParsing') return handler;
  const run = handler as unknown as AnyHook;
  return ((request: unknown, reply: unknown, _body: unknown, done: unknown) =>
    run(request, reply, done)) as unknown as onRequestHookHandler;
}

/**
 * Puts a hook behind the other hooks of a route, which run after those of the
 * instance, so that it can use the results of all of them.
 */
function addTo(route: RouteOptions, { hook, run }: Placed): void {
  const routes = route as unknown as Record<Hook, unknown>;
  routes[hook] = [routes[hook] ?? [], placed(hook, run)].flat();
}

/**
 * The name of the limits of a route, such as `GET/orders/:id`.  HEAD counts as
 * GET: Fastify answers it with the same handler.
 */
function nameOf(route: RouteOptions): string {
  const methods = [route.method].flat().map(String)
    .map((method) => method === 'HEAD' ? 'GET' : method);
  return [...new Set(methods)].join() + route.url.replaceAll('*', '+');
}

/** The hook for requests without a route, and for earlier routes. */
function forOthers(
  mark: symbol,
  run: onRequestHookHandler,
): onRequestHookHandler {
  return function others(this: FastifyInstance, request, reply, done): unknown {
    const config = request.routeOptions.config as unknown as Marks | undefined;
    if (config?.[mark] === true || config?.rateLimit === false) return done();
    if (config?.rateLimit !== undefined) {
      warnOnce('LIMITREE_ROUTE_BEFORE_PLUGIN', 'the route ' +
        `${request.routeOptions.url} has a limit of its own, but the plugin ` +
        'came after it, so it has the limit of all: await ' +
        'app.register(limitree) before it');
    }
    return run.call(this, request, reply, done);
  };
}

/** Limits the instance that registers it. */
export const plugin: FastifyPluginAsync<FastifyOptions> = async (
  instance: FastifyInstance,
  options: FastifyOptions,
): Promise<void> => {
  const { global: isGlobal = true } = options;
  const limits = new Plugin(options, instance.log);
  if (!instance.hasRequestDecorator('rateLimit')) {
    instance.decorateRequest('rateLimit', null);
  }
  if (!instance.hasDecorator('rateLimit')) {
    instance.decorate('rateLimit',
      (own?: FastifyRouteOptions) => limits.hook(own ?? {}).run);
  }
  if (!instance.hasDecorator('createRateLimit')) {
    instance.decorate('createRateLimit',
      (own?: FastifyRouteOptions) => limits.inspect(own ?? {}));
  }
  const mark = Symbol('limitree');
  let run: Placed | undefined;
  try {
    if (isGlobal) run = limits.ownHook();
  } catch (error) {  // whoever corrects the options tries again
    await limits.close();
    throw error;
  }
  instance.addHook('onRoute', (route) => {
    const own = route.config?.rateLimit;
    const config: object = { ...route.config, [mark]: true };
    route.config = config;
    if (own === false) return;
    if (own === undefined) {
      if (run !== undefined) addTo(route, run);
      return;
    }
    if (typeof own !== 'object' || own === null) {
      refuse(`config.rateLimit of ${nameOf(route)} must be false or an object`);
    }
    addTo(route, limits.hook(own, nameOf(route), route));
  });
  if (run !== undefined) {
    instance.addHook(run.hook as 'onRequest',
                     placed(run.hook, forOthers(mark, run.run)));
  }
  instance.addHook('onReady', async () => limits.ready());
  instance.addHook('onClose', () => limits.close());
};

/** Has the hooks of a plugin apply to the instance that registers it. */
export function shared<Plugin extends object>(
  one: Plugin,
  name: string,
): Plugin {
  return Object.assign(one, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: name,
    [Symbol.for('plugin-meta')]: { fastify: '5.x', name },
  });
}
