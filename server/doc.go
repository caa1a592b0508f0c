// Package server speaks over HTTP: OpenAI's speech API with the extensions that
// vLLM-omni gave it, text in pieces over WebSockets, and what operating such a server
// takes (health, readiness, metrics, keys, limits, an orderly end).
//
// A Server listens before its model is open and answers 503 until Use has given it an
// engine and that has spoken once. Shutdown is a phase of its own: the server says on
// /ready that it drains, refuses new work, lets live work finish and cancels what has
// not finished in time. See lifecycle.go.
//
// Handlers return an error. Whatever a client sees of it is an *Error, in OpenAI's
// envelope; everything else is logged and shown as a 500 without detail. Audio leaves
// as it is produced: nothing is sent before the first samples exist, so a request that
// fails early has a proper status, and one that fails later ends in a broken
// connection, never in a body that looks complete.
package server
