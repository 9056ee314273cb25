// Methods that work without their object: `const { authorize } = limiter`.

/** Binds all methods of an object's class to it. */
export function bindMethods(object: object): void {
  const prototype = Object.getPrototypeOf(object) as object;
  for (const name of namesOf(prototype)) {
    const method = (prototype as Record<string, unknown>)[name] as
      (...args: unknown[]) => unknown;
    Object.defineProperty(object, name, {
      value: method.bind(object), writable: true, configurable: true });
  }
}

const NAMES = new WeakMap<object, readonly string[]>();

function namesOf(prototype: object): readonly string[] {
  const known = NAMES.get(prototype);
  if (known !== undefined) return known;
  const names = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) =>
      name !== 'constructor' && typeof value === 'function')
    .map(([name]) => name);
  NAMES.set(prototype, names);
  return names;
}
