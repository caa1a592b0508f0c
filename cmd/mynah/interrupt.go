package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/mynah-tts/mynah/synth"
)

// interrupts turns signals into an orderly end: the first cancels the context, the
// second aborts the output and ends the program at once. A program that has more to put
// in order (hurryOnSecond) is hurried by the second, and ended by the third.
type interrupts struct {
	signals chan os.Signal
	mu      sync.Mutex
	abort   func()
	hurry   func()
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
		if i.hurried() {
			<-i.signals
		}
		i.mu.Lock()
		if i.abort != nil {
			i.abort()
		}
		os.Exit(exitFailed)
	}()
	return ctx, i
}

// openUnless opens a model, which may take a while, and gives up waiting for it when
// the context is cancelled: the program then ends.
func openUnless(ctx context.Context, open func() (*synth.Model, error)) (*synth.Model, error) {
	type opened struct {
		model *synth.Model
		err   error
	}
	done := make(chan opened, 1)
	go func() {
		model, err := open()
		done <- opened{model, err}
	}()
	select {
	case o := <-done:
		return o.model, o.err
	case <-ctx.Done():
		return nil, &exitError{exitFailed, "interrupted while the model was being opened"}
	}
}

// onSecond sets what a second signal does before it ends the program.
func (i *interrupts) onSecond(abort func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.abort = abort
}

// hurryOnSecond sets what a second signal does instead of ending the program.
func (i *interrupts) hurryOnSecond(hurry func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hurry = hurry
}

// hurried does what a second signal does without ending the program, if there is that.
func (i *interrupts) hurried() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.hurry == nil {
		return false
	}
	i.hurry()
	return true
}
