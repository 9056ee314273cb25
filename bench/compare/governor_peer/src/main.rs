// Decisions by governor, for native_bench.py: one call for each level, of
// buckets that are found by the caller's name.
//
//     governor_peer LEVELS CALLERS THREADS SECONDS
//
// Prints the nanoseconds that a decision takes a thread: by the clock, and of
// processor time.

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::env;
use std::fs;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const AT_ONCE: usize = 256; // decisions between two looks at the flag

fn processor_ns(thread: &str) -> f64 {
    let path = format!("/proc/{thread}/schedstat");
    let text = fs::read_to_string(path).expect("schedstat");
    text.split(' ').next().unwrap().parse().unwrap()
}

// Callers in an order that the processor cannot guess; returns decisions.
fn decide(limiters: &[DefaultKeyedRateLimiter<String>], names: &[String],
          seed: u64, stop: &AtomicBool) -> u64 {
    let callers = names.len();
    let mut state = seed;
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..AT_ONCE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let key = &names[((state >> 32) * callers as u64 >> 32) as usize];
            for limiter in limiters {
                limiter.check_key(key).expect("a request was denied");
            }
        }
        count += AT_ONCE as u64;
    }
    count
}

fn main() {
    let given: Vec<String> = env::args().collect();
    let levels: usize = given[1].parse().unwrap();
    let callers: usize = given[2].parse().unwrap();
    let threads: u64 = given[3].parse().unwrap();
    let seconds: f64 = given[4].parse().unwrap();
    // As much as it takes, so that nothing is ever denied.
    let quota = Quota::with_period(Duration::from_secs(1))
        .unwrap()
        .allow_burst(NonZeroU32::MAX);
    let limiters: Vec<_> =
        (0..levels).map(|_| RateLimiter::keyed(quota)).collect();
    let names: Vec<String> =
        (0..callers).map(|i| format!("caller{i:08}")).collect();
    for limiter in &limiters {
        for name in &names {
            limiter.check_key(name).unwrap();
        }
    }
    let stop = AtomicBool::new(false);
    let run = |seed| {
        let before = processor_ns("thread-self");
        let begin = Instant::now();
        let count = decide(&limiters, &names, seed, &stop) as f64;
        let took = begin.elapsed().as_nanos() as f64;
        (took / count, (processor_ns("thread-self") - before) / count)
    };
    let found: Vec<(f64, f64)> = thread::scope(|scope| {
        let running: Vec<_> = (1..=threads)
            .map(|seed| scope.spawn(move || run(seed)))
            .collect();
        thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let share = found.len() as f64;
    let real: f64 = found.iter().map(|one| one.0).sum();
    let cpu: f64 = found.iter().map(|one| one.1).sum();
    println!("{{\"real\": {}, \"cpu\": {}}}", real / share, cpu / share);
}
