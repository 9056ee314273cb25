// Programs that tests run.

import { execFile } from 'node:child_process';

/** Resolves to the program's output; rejects with that if it fails. */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 2 ** 26, ...options },
             (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      reject(new Error([error.message, stdout, stderr].join('\n')));
    });
  });
}
