// The guard, which decides before handlers run.

import type { CanActivate, ExecutionContext } from '@nestjs/common' with {
  'resolution-mode': 'import' };
import type { ServerResponse } from 'node:http';

import { StoreError, invalidArgument } from '../errors.js';
import { forFramework, type Body } from '../web/answer.js';
import { startOver, type RateLimitInfo } from '../web/info.js';
import { writeHeaders } from '../web/response.js';
import { common, wsException } from './packages.js';
import { answerOf, type NestRequest, type NestResponse } from './requests.js';
import type { Placed } from './routes.js';
import { LimitService } from './service.js';

/** The exception for a denial. */
export class LimitException extends common.HttpException {
  /** The decision. */
  readonly info: RateLimitInfo;

  constructor(body: string | Record<string, any>, status: number,
              info: RateLimitInfo) {
    super(body, status);
    this.info = info;
  }
}

/** What the arguments of GraphQL have as context, by Apollo or Mercurius. */
interface GraphqlContext {
  readonly req?: object;
  readonly res?: object;
  readonly request?: object;
  readonly reply?: { readonly request?: object };
}

/** A request, and its response if there is one. */
export interface Pair {
  readonly req: any;
  readonly res?: any;
}

function contentOf({ type, text }: Body): string | Record<string, any> {
  return type.startsWith('text/') ? text
    : JSON.parse(text) as Record<string, any>;
}

/**
 * Limits the methods of controllers, resolvers and gateways.
 *
 *     { provide: APP_GUARD, useClass: LimitGuard }
 */
export class LimitGuard implements CanActivate {
  protected readonly limits: LimitService;

  constructor(limits: LimitService) {
    this.limits = limits;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (await this.shouldSkip(context)) return true;
    const placed = await this.limits.limitsOf(
      context.getClass(), context.getHandler());
    if (placed.length === 0) return true;
    const { req, res } = this.#requestOf(context);
    for (const one of placed) {
      if (!await this.#decide(context, one, req, res)) return false;
    }
    return true;
  }

  /** Whether to leave a request alone; override it. */
  protected async shouldSkip(_context: ExecutionContext): Promise<boolean> {
    return false;
  }

  /** The request and the response; override it for other transports. */
  protected getRequestResponse(context: ExecutionContext): Pair {
    const type: string = context.getType();
    if (type === 'ws') return { req: context.switchToWs().getClient() };
    if (type === 'graphql') {
      const { req, request, reply, res } =
        context.getArgByIndex<GraphqlContext | undefined>(2) ?? {};
      return { req: req ?? request ?? reply?.request, res };
    }
    const http = context.switchToHttp();
    if (type === 'http') {
      return { req: http.getRequest(), res: http.getResponse() };
    }
    throw invalidArgument(
      `LimitGuard knows no requests of the type ${type}: override its ` +
        'getRequestResponse');
  }

  /** Throws the exception for a denial; override it for another. */
  protected async throwThrottlingException(
    _context: ExecutionContext,
    _info: RateLimitInfo,
    exception: unknown,
  ): Promise<void> {
    throw exception;
  }

  /**
   * A message or a field of GraphQL is decided for itself: a denied one gives
   * back nothing that others of its connection or request were charged.
   */
  #requestOf(context: ExecutionContext): Pair {
    const { req, res } = this.getRequestResponse(context);
    if (typeof req !== 'object' || req === null) {
      throw invalidArgument(
        'LimitGuard has found no request: the context of GraphQL needs ' +
          '{ req }; or override getRequestResponse');
    }
    if (context.getType<string>() === 'http') return { req, res };
    const own = Object.create(req as object) as object;
    startOver(own);
    return { req: own };
  }

  async #decide(
    context: ExecutionContext,
    placed: Placed,
    req: NestRequest,
    res: NestResponse,
  ): Promise<boolean> {
    const { gate, answers } = placed;
    let info: RateLimitInfo | undefined;
    try {
      info = await gate.decide(req, res);
    } catch (error) {
      if (gate.hasGone(req, res)) return false;
      throw this.#failure(error, res);
    }
    if (info === undefined) return true;
    (req as { rateLimit?: RateLimitInfo }).rateLimit = info;
    const answer = answerOf(res);
    if (answer !== undefined && !answer.headersSent) {
      writeHeaders(
        answer as ServerResponse, answers.headersOf(info), info);
    }
    if (info.decision.limited) {
      await this.throwThrottlingException(
        context, info, await this.#exception(context, placed, req, res, info));
    }
    return true;
  }

  /** A text that reveals nothing about the store; NestJS answers 503. */
  #failure(error: unknown, res: NestResponse): unknown {
    if (error instanceof StoreError) {
      answerOf(res)?.setHeader?.('Retry-After', '1');
    }
    return forFramework(error);
  }

  async #exception(
    context: ExecutionContext,
    { answers, handler }: Placed,
    req: NestRequest,
    res: NestResponse,
    info: RateLimitInfo,
  ): Promise<unknown> {
    const own: unknown = await handler?.(req, res, info);
    if (own !== undefined) return own;
    const body = await answers.bodyOf(info, req, res);
    const content = contentOf(body);
    if (context.getType<string>() === 'ws') {
      const told = typeof content === 'string' ? { message: content }
        : { message: 'Too Many Requests', ...content };
      return new (wsException())({ ...told, status: 'error' });
    }
    if (res !== undefined && !answerOf(res)?.headersSent) {
      // Fastify writes the type that its reply has.
      const to = res.raw === undefined
        ? (name: string, value: string) => res.setHeader?.(name, value)
        : (name: string, value: string) => res.header(name, value);
      if (typeof content !== 'string') to('Content-Type', body.type);
      to('Cache-Control', 'no-store');
    }
    return new LimitException(content, answers.statusOf(info), info);
  }
}

common.Injectable()(LimitGuard);
common.Inject(LimitService)(LimitGuard, undefined, 0);
