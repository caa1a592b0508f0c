package team

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type jobFunc func(worker, workers int)

func (f jobFunc) Part(worker, workers int) { f(worker, workers) }

func TestRunDoesEveryPartOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 7} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			tm := New(workers)
			defer tm.Close()
			if tm.Workers() != workers {
				t.Fatalf("Workers() = %d, want %d", tm.Workers(), workers)
			}
			const runs = 2000
			counts := make([]int, workers) // each written by its own worker only, so -race checks the barrier
			for range runs {
				tm.Run(jobFunc(func(w, n int) {
					if n != workers {
						panic(fmt.Sprintf("workers = %d", n))
					}
					counts[w]++
				}))
				// Read and write between runs, from the caller: only the barrier orders this.
				counts[workers-1] += 0
			}
			for w, c := range counts {
				if c != runs {
					t.Errorf("worker %d did %d parts, want %d", w, c, runs)
				}
			}
		})
	}
}

func TestNilAndTooSmall(t *testing.T) {
	var tm *Team
	ran := false
	tm.Run(jobFunc(func(w, n int) { ran = w == 0 && n == 1 }))
	if !ran || tm.Workers() != 1 {
		t.Errorf("nil team: ran %v with %d workers", ran, tm.Workers())
	}
	tm.Close()
	tm = New(-3)
	defer tm.Close()
	if tm.Workers() != 1 {
		t.Errorf("New(-3) has %d workers, want 1", tm.Workers())
	}
}

func TestWakesAfterSleep(t *testing.T) {
	tm := New(3)
	defer tm.Close()
	for range 5 {
		asleep := func() bool {
			for i := range tm.helpers {
				if !tm.helpers[i].asleep.Load() {
					return false
				}
			}
			return true
		}
		for deadline := time.Now().Add(10 * time.Second); !asleep(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("helpers still spin long after the last job")
			}
		}
		var sum atomic.Int32
		tm.Run(jobFunc(func(w, n int) { sum.Add(1) }))
		if sum.Load() != 3 {
			t.Fatalf("%d parts done, want 3", sum.Load())
		}
	}
}

// TestSlowPart makes the caller sleep at the barrier.
func TestSlowPart(t *testing.T) {
	tm := New(2)
	defer tm.Close()
	done := false
	tm.Run(jobFunc(func(w, n int) {
		if w == 1 {
			time.Sleep(20 * time.Millisecond)
			done = true
		}
	}))
	if !done {
		t.Error("Run returned before the part of worker 1 had ended")
	}
}

func TestMoreWorkersThanProcessors(t *testing.T) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			tm := New(8)
			defer tm.Close()
			var sum atomic.Int64
			const runs = 500
			for range runs {
				tm.Run(jobFunc(func(w, n int) { sum.Add(int64(w)) }))
			}
			if want := int64(runs * 28); sum.Load() != want {
				t.Errorf("sum = %d, want %d", sum.Load(), want)
			}
		})
	}
}

func TestConcurrentRuns(t *testing.T) {
	tm := New(2)
	defer tm.Close()
	var busy, total int // unguarded: Run must serialise
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				tm.Run(jobFunc(func(w, n int) {
					if w == 0 {
						busy++
						if busy != 1 {
							panic("two jobs at once")
						}
						total++
						busy--
					}
				}))
			}
		})
	}
	wg.Wait()
	if total != 1200 {
		t.Errorf("%d jobs done, want 1200", total)
	}
}

func TestPanics(t *testing.T) {
	boom := errors.New("boom")
	run := func(tm *Team, who int) (value any) {
		defer func() { value = recover() }()
		tm.Run(jobFunc(func(w, n int) {
			if w == who {
				panic(boom)
			}
		}))
		return nil
	}
	tm := New(3)
	defer tm.Close()
	for range 3 { // the team stays usable
		if v := run(tm, 0); v != boom {
			t.Errorf("panic of the caller came back as %v", v)
		}
		v := run(tm, 2)
		var pe *PanicError
		if err, ok := v.(error); !ok || !errors.As(err, &pe) || !errors.Is(err, boom) || pe.Worker != 2 {
			t.Fatalf("panic of worker 2 came back as %v", v)
		}
		if !strings.Contains(pe.Error(), "boom") || !strings.Contains(pe.Error(), "team_test.go") {
			t.Errorf("error lacks the value or the stack of the helper: %v", pe)
		}
		if v := run(tm, -1); v != nil {
			t.Errorf("job without panic came back with %v", v)
		}
	}
}

func TestGoexitInPart(t *testing.T) {
	tm := New(2)
	defer tm.Close()
	for range 3 {
		func() {
			defer func() {
				if pe, ok := recover().(*PanicError); !ok || pe.Value != "runtime.Goexit" {
					t.Errorf("Goexit in a part came back as %v", pe)
				}
			}()
			tm.Run(jobFunc(func(w, n int) {
				if w == 1 {
					runtime.Goexit()
				}
			}))
		}()
	}
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		tm := New(5)
		tm.Run(jobFunc(func(w, n int) {}))
		tm.Close()
		tm.Close()
	}
	// Close waits for the helpers' last statement; the runtime counts them a moment longer.
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	tm := New(2)
	tm.Close()
	defer func() {
		if recover() == nil {
			t.Error("Run after Close did not panic")
		}
	}()
	tm.Run(jobFunc(func(w, n int) {}))
}

type countJob struct{ counts [2]int }

func (j *countJob) Part(w, n int) { j.counts[w]++ }

func TestRunAllocatesNothing(t *testing.T) {
	tm := New(2)
	defer tm.Close()
	j := new(countJob)
	if n := testing.AllocsPerRun(1000, func() { tm.Run(j) }); n != 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

func TestSplit(t *testing.T) {
	for n := range 70 {
		for _, grain := range []int{1, 3, 4, 16} {
			for workers := 1; workers < 9; workers++ {
				next := 0
				least, most := n, 0
				for w := range workers {
					lo, hi := Split(n, grain, w, workers)
					if lo != next || hi < lo || hi < n && hi%grain != 0 {
						t.Fatalf("Split(%d, %d, %d, %d) = %d, %d after %d", n, grain, w, workers, lo, hi, next)
					}
					next = hi
					least, most = min(least, hi-lo), max(most, hi-lo)
				}
				if next != n {
					t.Fatalf("Split(%d, %d, _, %d) ends at %d", n, grain, workers, next)
				}
				if most-least > 2*grain {
					t.Errorf("Split(%d, %d, _, %d): parts from %d to %d", n, grain, workers, least, most)
				}
			}
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			tm := New(workers)
			defer tm.Close()
			j := jobFunc(func(w, n int) {})
			b.ReportAllocs()
			for b.Loop() {
				tm.Run(j)
			}
		})
	}
}

// TestRunParts runs jobs of changing numbers of parts: each part once, by the right worker, and those without a part sleep.
func TestRunParts(t *testing.T) {
	const workers = 5
	tm := New(workers)
	defer tm.Close()
	counts, want := make([]int, workers), make([]int, workers) // each written by its own worker only
	for i := range 5000 {
		parts := 1 + i*i%7 // some beyond the team
		now := min(parts, workers)
		if i%1000 == 999 {
			time.Sleep(2 * time.Millisecond) // all sleep
		}
		tm.RunParts(jobFunc(func(w, n int) {
			if n != now || w >= n {
				panic(fmt.Sprintf("part %d of %d, want %d", w, n, now))
			}
			counts[w]++
		}), parts)
		for w := range now {
			want[w]++
		}
	}
	for w := range counts {
		if counts[w] != want[w] {
			t.Errorf("worker %d did %d parts, want %d", w, counts[w], want[w])
		}
	}
	idle := &tm.helpers[workers-2]
	for deadline := time.Now().Add(10 * time.Second); !idle.asleep.Load(); {
		if time.Now().After(deadline) {
			t.Fatal("a worker without a part still spins")
		}
		tm.RunParts(jobFunc(func(w, n int) {}), 2)
	}
	ran := false
	(*Team)(nil).RunParts(jobFunc(func(w, n int) { ran = w == 0 && n == 1 }), 4)
	tm.RunParts(jobFunc(func(w, n int) { ran = ran && w == 0 && n == 1 }), 0)
	if !ran {
		t.Error("one part is not the caller's")
	}
	if n := testing.AllocsPerRun(100, func() { tm.RunParts(nothing, 3) }); n != 0 {
		t.Errorf("RunParts allocates %v times", n)
	}
}

var nothing = jobFunc(func(int, int) {})
