// Package runner stands in for the one of envoyproxy/ratelimit, so that its own
// tests start `limitree serve`: with the same settings, as an environment.
package runner

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"

	gostats "github.com/lyft/gostats"

	"github.com/envoyproxy/ratelimit/src/settings"
)

// Runner is one service.
type Runner struct {
	settings settings.Settings
	mu       *sync.Mutex // guards command
	command  *exec.Cmd
}

// NewRunner makes a service that does not run yet.
func NewRunner(s settings.Settings) Runner {
	return Runner{settings: s, mu: &sync.Mutex{}}
}

// Run starts the service.  Its answers say when it is there.
func (runner *Runner) Run() {
	runner.mu.Lock()
	defer runner.mu.Unlock()
	command := exec.Command(os.Getenv("LIMITREE_COMMAND"), "serve")
	command.Env = environment(runner.settings)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		panic(err)
	}
	runner.command = command
}

// Stop ends it as Kubernetes does.
func (runner *Runner) Stop() {
	runner.mu.Lock()
	defer runner.mu.Unlock()
	if runner.command == nil {
		return
	}
	if err := runner.command.Process.Signal(syscall.SIGTERM); err != nil {
		panic(err)
	}
	if err := runner.command.Wait(); err != nil {
		panic(err)
	}
	runner.command = nil
}

// GetStatsStore has what the service's own page says now.
func (runner *Runner) GetStatsStore() gostats.Store {
	store := gostats.NewStore(gostats.NewNullSink(), false)
	answer, err := http.Get(
		fmt.Sprintf("http://127.0.0.1:%d/stats", runner.settings.DebugPort))
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		number, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		store.NewCounter(name).Add(number)
		store.NewGauge(name).Set(number)
	}
	return store
}

// environment is that of a container that has these settings.
func environment(s settings.Settings) []string {
	all := []string{"PATH=" + os.Getenv("PATH")}
	fields := reflect.TypeOf(s)
	for i := 0; i < fields.NumField(); i++ {
		name := fields.Field(i).Tag.Get("envconfig")
		value := reflect.ValueOf(s).Field(i)
		if name == "" || value.IsZero() {
			continue
		}
		all = append(all, name+"="+text(value))
	}
	return all
}

func text(value reflect.Value) string {
	var parts []string
	switch value.Kind() {
	case reflect.Slice:
		for i := 0; i < value.Len(); i++ {
			parts = append(parts, text(value.Index(i)))
		}
		return strings.Join(parts, ",")
	case reflect.Map:
		for _, key := range value.MapKeys() {
			parts = append(parts, key.String()+":"+text(value.MapIndex(key)))
		}
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(value.Interface())
	}
}
