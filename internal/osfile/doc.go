// Package osfile writes files that appear when they are complete, and asks the operating
// system about files what Go's library does not tell on every system alike: locks that end
// with their process, whether a disk is full, how much room it has, and what went wrong.
package osfile
