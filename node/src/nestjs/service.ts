// The limits of an application, for its guards and for all who inject them.

import type { ModulesContainer } from '@nestjs/core' with {
  'resolution-mode': 'import' };

import type { Segment } from '../paths.js';
import type { RateLimitInfo } from '../web/info.js';
import type { KeyControls } from '../web/gate.js';
import { refuse } from '../web/refuse.js';
import { saidBy } from './decorators.js';
import type { LimitModuleOptions } from './options.js';
import { common, core } from './packages.js';
import { Routes, type Placed } from './routes.js';

/** The token of the options. */
export const OPTIONS = 'limitree:options';

type Class = abstract new (...args: any[]) => object;

/** Methods of a class, by their names. */
function methodsOf({ prototype }: Class): [string, object][] {
  return new core.MetadataScanner().getAllMethodNames(prototype).map(
    (name) => [name, (prototype as Record<string, object>)[name]!]);
}

/** The limits of the application. */
export class LimitService {
  readonly #routes: Routes;
  readonly #modules: ModulesContainer;

  /** @internal */
  constructor(options: LimitModuleOptions, modules: ModulesContainer) {
    this.#routes = new Routes(options);
    this.#modules = modules;
  }

  /** @internal The limits of a method. */
  async limitsOf(owner: Class, method: Function): Promise<readonly Placed[]> {
    const placed = this.#placedOf(owner, method);
    await this.#routes.ready;
    return placed;
  }

  #placedOf(owner: Class, method: Function): readonly Placed[] {
    return this.#routes.of(owner, method, saidBy(owner), saidBy(method));
  }

  /**
   * What can be done about clients of a limit: `keysOf(CatsController,
   * 'findAll').resetKey(ip)`.
   */
  keysOf<C extends Class>(
    owner: C,
    method: keyof InstanceType<C> & string,
    name = 'default',
  ): KeyControls {
    const [, found] = methodsOf(owner).find(([one]) => one === method) ??
      refuse(`${owner.name} has no method ${method}`);
    const placed = this.#placedOf(owner, found as Function);
    const { gate } = placed.find((one) => one.name === name) ??
      refuse(`${owner.name}.${method} has no limit with the name ${name}`);
    return {
      resetKey: async (key: Segment): Promise<void> => {
        await this.#routes.ready;
        return gate.keyControls.resetKey(key);
      },
      getKey: async (key: Segment): Promise<RateLimitInfo | undefined> => {
        await this.#routes.ready;
        return gate.keyControls.getKey(key);
      } };
  }

  /** @internal Makes all limits of decorators, which reports wrong ones. */
  onModuleInit(): void {
    for (const { controllers, providers } of this.#modules.values()) {
      for (const { metatype } of [...controllers.values(),
                                  ...providers.values()]) {
        if (typeof metatype !== 'function' || !metatype.prototype) continue;
        this.#makeAll(metatype as Class);
      }
    }
    this.#routes.begin();
  }

  #makeAll(owner: Class): void {
    const ofClass = saidBy(owner).limits !== undefined;
    for (const [, method] of methodsOf(owner)) {
      if (typeof method !== 'function') continue;
      if (!ofClass && saidBy(method).limits === undefined) continue;
      this.#placedOf(owner, method);
    }
  }

  /** @internal */
  async onApplicationShutdown(): Promise<void> {
    await this.#routes.close();
  }
}

common.Injectable()(LimitService);
common.Inject(OPTIONS)(LimitService, undefined, 0);
common.Inject(core.ModulesContainer)(LimitService, undefined, 1);
