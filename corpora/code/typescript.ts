/**
 * Client for a weather station network: a typed HTTP layer underneath, and a
 * connection state machine on top that tells the user interface what is going
 * on. Nothing here throws; every failure is a value of type `ApiError`.
 */

export type StationId = string & { readonly __brand: 'StationId' };

export type Result<T, E = ApiError> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

export type ApiError =
  | { kind: 'network'; message: string }
  | { kind: 'timeout'; afterMs: number }
  | { kind: 'http'; status: number; body: string }
  | { kind: 'decode'; path: string; expected: string };

export interface Reading {
  takenAt: Date;
  temperatureC: number;
  humidity?: number;
  wind: { speed: number; direction: CompassPoint };
}

export interface Station {
  id: StationId;
  name: string;
  position: readonly [latitude: number, longitude: number];
  latest: Reading | null;
}

const COMPASS = ['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW'] as const;
export type CompassPoint = (typeof COMPASS)[number];

const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });
const fail = <E>(error: E): Result<never, E> => ({ ok: false, error });

function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}

// ---------------------------------------------------------------------------
// Decoders: turn `unknown` into something we can trust.

type Decoder<T> = (input: unknown, path: string) => Result<T>;
type Decoded<D> = D extends Decoder<infer T> ? T : never;

const primitive =
  <T>(expected: string, guard: (input: unknown) => input is T): Decoder<T> =>
  (input, path) =>
    guard(input) ? ok(input) : fail({ kind: 'decode', path, expected });

const text = primitive('string', (x): x is string => typeof x === 'string');
const num = primitive('number', (x): x is number => Number.isFinite(x));
const compass = primitive('compass point', (x): x is CompassPoint =>
  (COMPASS as readonly unknown[]).includes(x),
);

function map<A, B>(decoder: Decoder<A>, convert: (a: A) => B): Decoder<B> {
  return (input, path) => {
    const result = decoder(input, path);
    return result.ok ? ok(convert(result.value)) : result;
  };
}

function nullable<T>(decoder: Decoder<T>): Decoder<T | null> {
  return (input, path) => (input === null ? ok(null) : decoder(input, path));
}

function arrayOf<T>(decoder: Decoder<T>): Decoder<T[]> {
  return (input, path) => {
    if (!Array.isArray(input)) return fail({ kind: 'decode', path, expected: 'array' });
    const items: T[] = [];
    for (const [index, item] of input.entries()) {
      const result = decoder(item, `${path}[${index}]`);
      if (!result.ok) return result;
      items.push(result.value);
    }
    return ok(items);
  };
}

function object<S extends Record<string, Decoder<unknown>>>(
  shape: S,
): Decoder<{ [K in keyof S]: Decoded<S[K]> }> {
  return (input, path) => {
    if (typeof input !== 'object' || input === null) {
      return fail({ kind: 'decode', path, expected: 'object' });
    }
    const output: Partial<Record<keyof S, unknown>> = {};
    for (const key of Object.keys(shape) as (keyof S & string)[]) {
      const result = shape[key]!((input as Record<string, unknown>)[key], `${path}.${key}`);
      if (!result.ok) return result;
      output[key] = result.value;
    }
    return ok(output as { [K in keyof S]: Decoded<S[K]> });
  };
}

const reading: Decoder<Reading> = object({
  takenAt: map(text, (iso) => new Date(iso)),
  temperatureC: num,
  wind: object({ speed: num, direction: compass }),
});

const station: Decoder<Station> = map(
  object({
    id: text,
    name: text,
    latitude: num,
    longitude: num,
    latest: nullable(reading),
  }),
  ({ id, name, latitude, longitude, latest }) => ({
    id: id as StationId,
    name,
    position: [latitude, longitude] as const,
    latest,
  }),
);

// ---------------------------------------------------------------------------
// HTTP

interface Endpoints {
  '/stations': Station[];
  '/stations/:id': Station;
  '/stations/:id/history': Reading[];
}

const DECODERS: { [P in keyof Endpoints]: Decoder<Endpoints[P]> } = {
  '/stations': arrayOf(station),
  '/stations/:id': station,
  '/stations/:id/history': arrayOf(reading),
};

/** Extracts `"id"` from `"/stations/:id/history"`. */
type ParamNames<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

export class WeatherClient {
  constructor(
    private readonly baseUrl: string,
    private readonly timeoutMs = 5_000,
    private readonly fetchFn: typeof fetch = globalThis.fetch,
  ) {}

  async get<P extends keyof Endpoints>(
    path: P,
    params: Record<ParamNames<P>, string>,
  ): Promise<Result<Endpoints[P]>> {
    const url = path.replace(/:(\w+)/g, (_, name: string) =>
      encodeURIComponent((params as Record<string, string>)[name] ?? ''),
    );
    try {
      const response = await this.fetchFn(this.baseUrl + url, {
        headers: { Accept: 'application/json' },
        signal: AbortSignal.timeout(this.timeoutMs),
      });
      if (!response.ok) {
        return fail({ kind: 'http', status: response.status, body: await response.text() });
      }
      return DECODERS[path](await response.json(), '$');
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === 'TimeoutError') {
        return fail({ kind: 'timeout', afterMs: this.timeoutMs });
      }
      return fail({ kind: 'network', message: String(cause) });
    }
  }
}

// ---------------------------------------------------------------------------
// State machine

export type State =
  | { status: 'idle' }
  | { status: 'loading'; attempt: number }
  | { status: 'ready'; stations: Station[]; loadedAt: number }
  | { status: 'failed'; error: ApiError; retryInMs: number | null };

export type Event =
  | { type: 'refresh' }
  | { type: 'loaded'; stations: Station[] }
  | { type: 'rejected'; error: ApiError };

const MAX_ATTEMPTS = 4;

export function transition(state: State, event: Event): State {
  switch (event.type) {
    case 'refresh':
      return state.status === 'loading' ? state : { status: 'loading', attempt: 1 };
    case 'loaded':
      return { status: 'ready', stations: event.stations, loadedAt: Date.now() };
    case 'rejected': {
      const attempt = state.status === 'loading' ? state.attempt : 1;
      const hopeless = event.error.kind === 'decode' || attempt >= MAX_ATTEMPTS;
      const retryInMs = hopeless ? null : 2 ** attempt * 250;
      return { status: 'failed', error: event.error, retryInMs };
    }
    default:
      return assertNever(event);
  }
}

export function describe(error: ApiError): string {
  switch (error.kind) {
    case 'network':
      return `No connection (${error.message})`;
    case 'timeout':
      return `No answer after ${(error.afterMs / 1000).toFixed(1)} s…`;
    case 'http':
      return error.status >= 500 ? 'The server is unwell.' : `HTTP ${error.status}`;
    case 'decode':
      return `Expected ${error.expected} at ${error.path}`;
  }
}
