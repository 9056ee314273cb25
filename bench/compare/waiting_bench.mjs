// limiter.wait(): how long many callers of one path take who all wait in line.
//
// The last one passes after (callers - burst) / rate at the earliest.  Prints
// how much longer it took, and the processor time of the whole line; fails if
// anybody passed out of turn.  Without a burst, the line never makes up for the
// time by which a timer was late.
//
// Usage: node bench/compare/waiting_bench.mjs [callers] [rounds]  (1000, 3)

import { loadavg } from 'node:os';

import { Limiter } from 'limitree';

const [callers = 1000, rounds = 3] = process.argv.slice(2).map(Number);

/** One line: [seconds beyond the earliest end, seconds of the processor]. */
async function measure(rate, burst) {
  const limiter = new Limiter({ limits: { schema: { job: {
    limits: { count: rate, period: '1s', burst } } } } });
  const order = [];
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await Promise.all(Array.from({ length: callers }, async (_, i) => {
    const { allowed } = await limiter.wait(['job'], { maxQueue: callers });
    if (!allowed) throw new Error(`caller ${i} was denied`);
    order.push(i);
  }));
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await limiter.close();
  if (order.some((one, i) => one !== i)) throw new Error('out of turn');
  return [seconds - (callers - burst) / rate, (user + system) / 1e6];
}

for (const burst of [1, 10]) {
  for (const rate of [100, 200, 500, 1000, 2000]) {
    const least = (callers - burst) / rate;
    const found = [];
    for (let i = 0; i < rounds; ++i) found.push(await measure(rate, burst));
    const [late, cpu] = found.sort(([a], [b]) => a - b)[rounds >> 1];
    console.log(`${rate}/s, burst ${burst}`.padEnd(16),
                `${least.toFixed(2)} s`.padStart(8),
                `+${(late / least * 100).toFixed(2)} %`.padStart(9),
                `${cpu.toFixed(2)} s of the processor`);
  }
}
console.log('load', ...loadavg().map((load) => load.toFixed(2)));
