// The module, which has the limits of an application.

import type {
  DynamicModule, FactoryProvider, ModuleMetadata, Provider, Type,
} from '@nestjs/common' with {
  'resolution-mode': 'import' };

import { refuse } from '../web/refuse.js';
import type { LimitModuleOptions } from './options.js';
import { common } from './packages.js';
import { LimitService, OPTIONS } from './service.js';

/** A provider that makes the options. */
export interface LimitOptionsFactory {
  createLimitOptions(): Promise<LimitModuleOptions> | LimitModuleOptions;
}

/** Where the options come from: one of the last three says it. */
export interface LimitModuleAsyncOptions
  extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: FactoryProvider['inject'];
  readonly useFactory?: (
    ...args: any[]) => Promise<LimitModuleOptions> | LimitModuleOptions;
  readonly useClass?: Type<LimitOptionsFactory>;
  readonly useExisting?: Type<LimitOptionsFactory>;
}

function moduleWith(providers: Provider[]): DynamicModule {
  return { module: LimitModule, global: true, exports: [LimitService],
           providers: [...providers, LimitService] };
}

function providersOf(options: LimitModuleAsyncOptions): Provider[] {
  const { inject = [], useFactory, useClass, useExisting } = options;
  if (useFactory !== undefined) {
    return [{ provide: OPTIONS, inject, useFactory }];
  }
  const factory = useExisting ?? useClass ??
    refuse('forRootAsync needs useFactory, useClass or useExisting');
  const options_ = {
    provide: OPTIONS, inject: [factory],
    useFactory: (made: LimitOptionsFactory) => made.createLimitOptions() };
  return useExisting !== undefined ? [options_]
    : [options_, { provide: factory, useClass: factory }];
}

/** Limits of an application of NestJS. */
export class LimitModule {
  /** Throws ConfigError for wrong options when the application begins. */
  static forRoot(options: LimitModuleOptions = {}): DynamicModule {
    return moduleWith([{ provide: OPTIONS, useValue: options }]);
  }

  /** The same with options that other providers make. */
  static forRootAsync(options: LimitModuleAsyncOptions): DynamicModule {
    return { ...moduleWith(providersOf(options)),
             imports: options.imports ?? [] };
  }
}

common.Module({})(LimitModule);
