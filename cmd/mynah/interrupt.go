package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns signals into an orderly end: the first cancels the context, the
// second aborts the output and ends the program at once.
type interrupts struct {
	signals chan os.Signal
	mu      sync.Mutex
	abort   func()
}

// catchInterrupts returns a context that ends with the first SIGINT, SIGTERM or
// SIGHUP. A signal that the program was started without (nohup) stays ignored.
func catchInterrupts() (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(context.Background())
	i := &interrupts{signals: make(chan os.Signal, 2)}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(i.signals, s)
		}
	}
	go func() {
		<-i.signals
		cancel()
		<-i.signals
		i.mu.Lock()
		if i.abort != nil {
			i.abort()
		}
		os.Exit(exitFailed)
	}()
	return ctx, i
}

// onSecond sets what a second signal does before it ends the program.
func (i *interrupts) onSecond(abort func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.abort = abort
}
