// Package team is a fixed team of workers for work that is measured in microseconds. A frame of speech is some hundred
// matrix products of 20 to 500 µs, each cut in one part per worker, with a barrier after each: handing such parts to fresh
// goroutines or through channels would cost as much as the work. So the workers wait for the next job by spinning, for a
// bounded time; if none comes they sleep, and cost nothing until they are woken.
package team
