// Goroutines that make one decision after the other through Redis, with the
// peers of limitree.  callers_bench.py runs this program beside limitree.
//
//	go_peers redis_rate|redis-cell ADDRESS GOROUTINES SECONDS
//
// Prints what redis_callers.cpp prints.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

const callers = 1000 // as many as redis_callers.cpp has

// caller returns a function that decides for the caller with a given name.
func caller(library string, client *redis.Client) func(string) error {
	ctx := context.Background()
	switch library {
	case "redis_rate":
		limiter := redis_rate.NewLimiter(client)
		limit := redis_rate.PerMinute(1000000)
		return func(name string) error {
			_, err := limiter.Allow(ctx, name, limit)
			return err
		}
	case "redis-cell":
		return func(name string) error {
			return client.Do(ctx, "CL.THROTTLE", name, 999999, 1000000, 60, 1).Err()
		}
	}
	log.Fatalf("no such library: %s", library)
	return nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// decide calls until stop is set, and returns how long each call took.
func decide(call func(string) error, thread int, begin chan struct{},
	stop *atomic.Bool) []time.Duration {
	names := make([]string, callers)
	for i := range names {
		names[i] = fmt.Sprintf("caller%d", (thread*101+i*7)%callers)
	}
	for i := 0; i < 10; i++ {
		must(call(names[i]))
	}
	<-begin
	var took []time.Duration
	for i := 0; i == 0 || !stop.Load(); i++ {
		start := time.Now()
		must(call(names[i%callers]))
		took = append(took, time.Since(start))
	}
	return took
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: go_peers redis_rate|redis-cell ADDRESS GOROUTINES SECONDS")
	}
	goroutines, err := strconv.Atoi(os.Args[3])
	must(err)
	seconds, err := strconv.ParseFloat(os.Args[4], 64)
	must(err)
	client := redis.NewClient(&redis.Options{Addr: os.Args[2],
		ReadTimeout: 5 * time.Second, PoolTimeout: 5 * time.Second})
	call := caller(os.Args[1], client)

	found := make([][]time.Duration, goroutines)
	begin := make(chan struct{})
	var stop atomic.Bool
	var running sync.WaitGroup
	for i := range found {
		running.Add(1)
		go func() {
			defer running.Done()
			found[i] = decide(call, i, begin, &stop)
		}()
	}
	time.Sleep(100 * time.Millisecond)
	used, start := processorTime(), time.Now()
	close(begin)
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	stop.Store(true)
	running.Wait()
	wall, cpu := time.Since(start), processorTime()-used

	var all []time.Duration
	for _, one := range found {
		all = append(all, one...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	us := func(part float64) float64 {
		return float64(all[int(part*float64(len(all)-1))]) / 1000
	}
	fmt.Printf(`{"ops": %.1f, "p50": %.2f, "p99": %.2f, "max": %.0f, "cpu": %.2f}`+"\n",
		float64(len(all))/wall.Seconds(), us(0.5), us(0.99), us(1),
		float64(cpu.Microseconds())/float64(len(all)))
}
