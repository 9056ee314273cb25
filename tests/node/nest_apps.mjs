// Apps of NestJS, put together without the syntax of decorators.

import 'reflect-metadata';
import { Controller, Get, Module, Req } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';

import { LimitGuard } from 'limitree/nestjs';

/** Adds a method with its decorators to a class. */
export function addMethod(owner, name, run, decorators) {
  Object.defineProperty(owner.prototype, name,
                        { value: run, configurable: true });
  const descriptor = Object.getOwnPropertyDescriptor(owner.prototype, name);
  for (const one of decorators) one(owner.prototype, name, descriptor);
  return owner;
}

/**
 * A controller at `/<name>`: each route is a path below, which tells the
 * decision, and its decorators.
 */
export function controllerOf(name, routes, ...decorators) {
  const owner = { [name]: class {} }[name];
  Controller(name)(owner);
  for (const one of decorators) one(owner);
  for (const [path, own] of Object.entries(routes)) {
    addMethod(owner, path, (request) =>
      ({ left: request.rateLimit?.remaining ?? null }), [Get(path), ...own]);
    Req()(owner.prototype, path, 0);
  }
  return owner;
}

/** A module with a guard for all of its app. */
export function moduleOf(controllers, imports, guard = LimitGuard, more = []) {
  class Main {}
  Module({ controllers, imports, providers: [
    { provide: APP_GUARD, useClass: guard }, ...more] })(Main);
  return Main;
}

/** Runs `use(get, app)` while the app serves requests. */
export async function serving(main, adapter, use) {
  const app = await NestFactory.create(main, adapter,
                                       { logger: false, abortOnError: false });
  try {
    await app.listen(0, '127.0.0.1');
    const url = `http://127.0.0.1:${app.getHttpServer().address().port}`;
    await use(async (path, init) => {
      const answer = await fetch(url + path, init);
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, text,
               get json() { return JSON.parse(text); } };
    }, app);
  } finally {
    await app.close();
  }
}

/** The statuses of `count` requests, one after the other. */
export async function statuses(get, path, count, init) {
  const found = [];
  for (let i = 0; i < count; ++i) found.push((await get(path, init)).status);
  return found;
}
